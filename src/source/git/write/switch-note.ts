import { type FileHandle, lstat, open, readFile, stat } from 'node:fs/promises';
import * as z from 'zod';
import { syncFolder } from '../../../disk/sync.ts';
import { HoldfastError } from '../../../errors.ts';
import type { Repository } from '../repository/repository.ts';
import { isHeld } from '../work-tree/holders.ts';

const Id = z.string().regex(/^([0-9a-f]{40}|[0-9a-f]{64})$/);

/**
 * Index and work tree are on their way to the commit `to`, and the branch has not followed yet. `files` says what
 * stood at each path (from the top of the work tree) before: what still does is not ours. `boot` names the start of
 * the machine that it was written in, where the machine tells.
 */
const SwitchNote = z.object({ to: Id, files: z.record(z.string(), z.string()), boot: z.string().nullish() });
export type SwitchNote = z.infer<typeof SwitchNote>;

/** The note that outlives a process which dies between the steps of a publish. */
export interface SwitchNotes {
  /** The note of an unfinished switch; null for none. Rejects as `conflict` while another process works on it. */
  read(): Promise<SwitchNote | null>;
  /** Resolves when the note is on the disk. */
  write(note: SwitchNote): Promise<void>;
  clear(): Promise<void>;
  close(): Promise<void>;
}

/** The note is a file of the work tree's own git folder; it stays, empty, when nothing is under way. */
export function openSwitchNotes({ gitFolder }: Repository): SwitchNotes {
  const path = `${gitFolder}/holdfast-switch`;
  const boot = bootId();
  let file: { handle: FileHandle; ino: number } | null = null;
  let isOurs = false;

  const close = async (): Promise<void> => {
    const opened = file;
    file = null;
    await opened?.handle.close();
  };

  const opened = async (): Promise<FileHandle> => {
    if (file !== null) return file.handle;
    // Neither truncated nor appended to: a note is written over the one before.
    const handle = await open(path, 'r+').catch(() => open(path, 'w+', 0o600));
    file = { handle, ino: (await handle.stat()).ino };
    await syncFolder(gitFolder);
    return handle;
  };

  const replace = async (text: string): Promise<void> => {
    const handle = await opened();
    await handle.truncate(0);
    if (text === '') return;
    await handle.write(text, 0);
    await handle.sync();
  };

  const read = async (): Promise<SwitchNote | null> => {
    // Most looks find nothing: asking for the size alone costs a quarter of reading.
    const found = await stat(path).catch(() => null);
    // Somebody has removed it, as a message of ours says that they can: a note in it would be lost.
    if (found?.ino !== file?.ino) await close();
    const note = (found?.size ?? 0) === 0 ? null : parseNote(await readFile(path, 'utf8').catch(() => ''));
    if (note === null || isOurs || (await isHeld(path, [])) !== true) return note;
    throw new HoldfastError('conflict', 'another manager is writing to this checkout; run one of them only');
  };

  return {
    read,
    write: async (note) => {
      isOurs = true;
      await replace(JSON.stringify({ ...note, boot: await boot }));
    },
    clear: async () => {
      await replace('');
      isOurs = false;
    },
    close,
  };
}

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
