import { lstat, open, readFile, stat, truncate } from 'node:fs/promises';
import * as z from 'zod';
import { ignoreMissing } from '../../../disk/exists.ts';
import { syncFolder } from '../../../disk/sync.ts';
import { HoldfastError } from '../../../errors.ts';
import type { Repository } from '../repository/repository.ts';

const Id = z.string().regex(/^([0-9a-f]{40}|[0-9a-f]{64})$/);

/**
 * Records that index and work tree are being switched to the commit `to`, which the branch has not reached yet. `files`
 * has the mark of what was at each path (from the top of the work tree) before: a file with the same mark is not ours.
 * `boot` identifies the machine's boot, if the machine reports one.
 */
const SwitchNote = z.object({ to: Id, files: z.record(z.string(), z.string()), boot: z.string().nullish() });
export type SwitchNote = z.infer<typeof SwitchNote>;

/**
 * The note that outlives a process which dies between the steps of a publish: a file in the work tree's own git folder
 * that stays, empty, while no write is running. It is written and cleared only while the index is locked. So a note that
 * is found under the lock is that of a write that failed or died, also if managers of two folders share a clone.
 */
export interface SwitchNotes {
  /** Resolves to the note; null if there is none. Rejects if it cannot be read: what it records must not be lost. */
  read(): Promise<SwitchNote | null>;
  /**
   * Resolves when the note is on the disk. Rejects as `moved-on` if another process has left one, which must be undone
   * first.
   */
  write(note: SwitchNote): Promise<void>;
  clear(): Promise<void>;
}

export function openSwitchNotes({ gitFolder }: Repository): SwitchNotes {
  const path = `${gitFolder}/holdfast-switch`;
  const boot = bootId();
  /** Whether the file's name is synced. */
  let isNameSynced = false;

  const read = async (): Promise<SwitchNote | null> => {
    // There is usually no note, and `stat` costs a quarter of reading the file.
    const size = await stat(path).then((found) => found.size, ignoreMissing);
    // A user may remove the file, as one of our error messages suggests.
    if (size === undefined) isNameSynced = false;
    return size ? parseNote(await readFile(path, 'utf8')) : null;
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
      if (!isNameSynced) await syncFolder(gitFolder);
      isNameSynced = true;
    },
    clear: () => truncate(path).catch(ignoreMissing),
  };
}

const CUT_SHORT = 'a write of another manager was interrupted in the meantime';

/** Returns null for a half-written note: it was never synced, so the switch did not start. */
function parseNote(text: string): SwitchNote | null {
  try {
    return SwitchNote.parse(JSON.parse(text));
  } catch {
    return null;
  }
}

/** Whether the machine has booted since the note was written: files that were not synced may be lost. */
export async function isFromEarlierBoot({ boot }: SwitchNote): Promise<boolean> {
  const now = await bootId();
  return typeof boot === 'string' && now !== null && boot !== now;
}

/** Resolves to the id of this boot; null on systems other than Linux. */
async function bootId(): Promise<string | null> {
  const text = await readFile('/proc/sys/kernel/random/boot_id', 'utf8').catch(() => null);
  return text?.trim() ?? null;
}

/** The mark of a file that does not exist. */
export const NO_FILE = 'none';

/** Resolves to a mark that changes with every change of a file: git writes a new file each time. */
export async function fileMark(path: string): Promise<string> {
  const found = await lstat(path, { bigint: true }).catch(() => null);
  return found === null ? NO_FILE : `${found.ino}:${found.size}:${found.mtimeNs}:${found.ctimeNs}`;
}
