import { lstat, open, readFile, stat, truncate } from 'node:fs/promises';
import * as z from 'zod';
import { syncFolder } from '../../../disk/sync.ts';
import { ignoreMissing } from '../../../disk/there.ts';
import { HoldfastError } from '../../../errors.ts';
import type { Repository } from '../repository/repository.ts';

const Id = z.string().regex(/^([0-9a-f]{40}|[0-9a-f]{64})$/);

/**
 * Index and work tree are on their way to the commit `to`, and the branch has not followed yet. `files` says what
 * stood at each path (from the top of the work tree) before: what still does is not ours. `boot` names the start of
 * the machine that it was written in, where the machine tells.
 */
const SwitchNote = z.object({ to: Id, files: z.record(z.string(), z.string()), boot: z.string().nullish() });
export type SwitchNote = z.infer<typeof SwitchNote>;

/**
 * The note that outlives a process which dies between the steps of a publish: a file of the work tree's own git folder,
 * which stays, empty, when nothing is under way. It is written and cleared only while the index is locked. So a note
 * that is found behind the lock is of a write that failed or died, also where managers of two folders work in one clone.
 */
export interface SwitchNotes {
  /** The note that is there; null for none. */
  read(): Promise<SwitchNote | null>;
  /**
   * Resolves when the note is on the disk. Rejects as `moved-on` where there is one of another process, which is to be
   * undone first.
   */
  write(note: SwitchNote): Promise<void>;
  clear(): Promise<void>;
}

export function openSwitchNotes({ gitFolder }: Repository): SwitchNotes {
  const path = `${gitFolder}/holdfast-switch`;
  const boot = bootId();
  /** Whether the name of the file is on the disk. */
  let isNamed = false;

  const read = async (): Promise<SwitchNote | null> => {
    // Most looks find nothing: asking for the size alone costs a quarter of reading.
    const found = await stat(path).catch(() => null);
    // Somebody has removed it, as a message of ours says that they can.
    if (found === null) isNamed = false;
    return (found?.size ?? 0) === 0 ? null : parseNote(await readFile(path, 'utf8').catch(() => ''));
  };

  return {
    read,
    write: async (note) => {
      if ((await read()) !== null) throw new HoldfastError('moved-on', CUT_SHORT);
      const file = await open(path, 'w', 0o600);
      try {
        await file.writeFile(JSON.stringify({ ...note, boot: await boot }));
        await file.sync();
      } finally {
        await file.close();
      }
      if (!isNamed) await syncFolder(gitFolder);
      isNamed = true;
    },
    clear: () => truncate(path).catch(ignoreMissing),
  };
}

const CUT_SHORT = 'a write of another manager was interrupted in the meantime';

/** Half a note was never on the disk whole, so nothing was begun after it. */
function parseNote(text: string): SwitchNote | null {
  try {
    return SwitchNote.parse(JSON.parse(text));
  } catch {
    return null;
  }
}

/** Whether the machine was started anew since the note was written: what nobody synced may be lost. */
export async function isFromEarlierBoot({ boot }: SwitchNote): Promise<boolean> {
  const now = await bootId();
  return typeof boot === 'string' && now !== null && boot !== now;
}

/** Linux tells; elsewhere null. */
async function bootId(): Promise<string | null> {
  const text = await readFile('/proc/sys/kernel/random/boot_id', 'utf8').catch(() => null);
  return text?.trim() ?? null;
}

/** The mark of a file that is not there. */
export const NO_FILE = 'none';

/** Tells one state of a file from every later one: git writes a new file for each change. */
export async function fileMark(path: string): Promise<string> {
  const found = await lstat(path, { bigint: true }).catch(() => null);
  return found === null ? NO_FILE : `${found.ino}:${found.size}:${found.mtimeNs}:${found.ctimeNs}`;
}
