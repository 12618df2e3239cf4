import { type FileHandle, lstat, open, readFile, stat } from 'node:fs/promises';
import { setTimeout as sleep } from 'node:timers/promises';
import * as z from 'zod';
import { syncFolder } from '../../../disk/sync.ts';
import { HoldfastError } from '../../../errors.ts';
import type { Repository } from '../repository/repository.ts';
import { isHeld } from '../work-tree/holders.ts';

/** How long the note of another manager is waited for, and how often it is looked at; milliseconds. */
const PATIENCE = 5000;
const INTERVAL = 20;

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
  /**
   * The note of an unfinished switch; null for none. Waits for a process that is at work on it; rejects as `conflict`
   * after some seconds.
   */
  read(): Promise<SwitchNote | null>;
  /**
   * Resolves when the note is on the disk; the index is locked. Waits as `read` does; rejects as `moved-on` where there
   * is a note of a process that died, which is to be undone first.
   */
  write(note: SwitchNote): Promise<void>;
  clear(): Promise<void>;
  close(): Promise<void>;
}

/**
 * The note is a file of the work tree's own git folder; it stays, empty, when nothing is under way. It is open for as
 * long as its process is at work, which tells others that this one lives: managers of two folders can work in one
 * clone.
 */
export function openSwitchNotes({ gitFolder }: Repository): SwitchNotes {
  const path = `${gitFolder}/holdfast-switch`;
  const file = openNoteFile(path, gitFolder);
  const boot = bootId();
  let isOurs = false;

  /** A look at all processes takes longer than most switches; and this one may have come to its end meanwhile. */
  const isLeft = async ({ to }: SwitchNote, before: string | null): Promise<boolean> =>
    to === before && (await isHeld(path, [])) !== true && (await file.look())?.to === to;

  const read = async (): Promise<SwitchNote | null> => {
    const deadline = performance.now() + PATIENCE;
    for (let before: string | null = null; ; await sleep(INTERVAL)) {
      const note = await file.look();
      if (note === null || isOurs) return note;
      if (await isLeft(note, before)) return note;
      if (performance.now() > deadline) throw new HoldfastError('conflict', STILL_AT_WORK);
      before = note.to;
    }
  };

  return {
    read,
    write: async (note) => {
      if (!isOurs && (await read()) !== null) throw new HoldfastError('moved-on', CUT_SHORT);
      isOurs = true;
      await file.replace(JSON.stringify({ ...note, boot: await boot }));
    },
    clear: async () => {
      await file.replace('');
      isOurs = false;
      await file.close();
    },
    close: file.close,
  };
}

const STILL_AT_WORK = 'another manager is still writing to this checkout; try again';
const CUT_SHORT = 'a write of another manager was cut short meanwhile';

/** The file of the note, which is opened when something is to be written. */
function openNoteFile(path: string, gitFolder: string) {
  let file: { handle: FileHandle; ino: number } | null = null;
  /** Whether the name of the file is on the disk. */
  let isNamed = false;

  const close = async (): Promise<void> => {
    const opened = file;
    file = null;
    await opened?.handle.close();
  };

  const opened = async (): Promise<FileHandle> => {
    if (file !== null) return file.handle;
    // Neither truncated nor appended to: a note is written over the one before.
    const handle = await open(path, 'r+').catch(() => {
      isNamed = false;
      return open(path, 'w+', 0o600);
    });
    file = { handle, ino: (await handle.stat()).ino };
    if (!isNamed) await syncFolder(gitFolder);
    isNamed = true;
    return handle;
  };

  return {
    close,
    look: async (): Promise<SwitchNote | null> => {
      // Most looks find nothing: asking for the size alone costs a quarter of reading.
      const found = await stat(path).catch(() => null);
      // Somebody has removed it, as a message of ours says that they can: a note in it would be lost.
      if (found?.ino !== file?.ino) await close();
      return (found?.size ?? 0) === 0 ? null : parseNote(await readFile(path, 'utf8').catch(() => ''));
    },
    replace: async (text: string): Promise<void> => {
      const handle = await opened();
      await handle.truncate(0);
      if (text === '') return;
      await handle.write(text, 0);
      await handle.sync();
    },
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
