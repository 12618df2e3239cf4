import { readdir, readFile, readlink } from 'node:fs/promises';
import { isLauncher } from '../process/launcher.ts';

/** Whether a living process works with a file; null where this machine cannot tell. */
export async function isHeld(path: string, folders: readonly string[]): Promise<boolean | null> {
  return someOther(async (id) => (await hasOpen(id, path)) || (await isGitIn(id, folders, isLocker)));
}

/** Whether a git that may write, and that this manager did not start, works in one of these folders; null for unknown. */
export async function isAtWork(folders: readonly string[]): Promise<boolean | null> {
  return someOther((id) => isGitIn(id, folders, isWriter));
}

/**
 * Whether a git that a dead manager started is still at work in one of these folders: it may be about to move
 * the branch, or the index. Null where this machine cannot tell.
 */
export async function hasOrphans(folders: readonly string[]): Promise<boolean | null> {
  return someOther((id) => isGitIn(id, folders, (command) => MOVERS.test(command)));
}

/** Whether any process has a file open, this one among them; null where this machine cannot tell. */
export async function isOpen(path: string): Promise<boolean | null> {
  return someProcess((id) => hasOpen(id, path));
}

function someOther(isIt: (id: string) => Promise<boolean>): Promise<boolean | null> {
  return someProcess(async (id) => Number(id) !== process.pid && (await isIt(id)));
}

async function someProcess(isIt: (id: string) => Promise<boolean>): Promise<boolean | null> {
  if (process.platform !== 'linux') return null;
  const processes = (await readdir('/proc')).filter((name) => /^\d+$/.test(name));
  for (const id of processes) {
    if (await isIt(id)) return true;
  }
  return false;
}

async function hasOpen(id: string, path: string): Promise<boolean> {
  const open = await readdir(`/proc/${id}/fd`).catch(() => []);
  const targets = await Promise.all(open.map((fd) => readlink(`/proc/${id}/fd/${fd}`).catch(() => '')));
  return targets.includes(path);
}

/** Commands that only read, and that can stay for hours: with a pager, or to serve. They hold no lock unopened. */
const READERS = /^(log|show|diff|blame|grep|shortlog|reflog|help|cat-file|diff-tree|fsmonitor--daemon)$/;

function isWriter(command: string): boolean {
  return !READERS.test(command);
}

/** Commands that write, and lock nothing: a manager joins packs with them, for minutes where there is much. */
const JOINERS = /^(repack|pack-objects)$/;

function isLocker(command: string): boolean {
  return isWriter(command) && !JOINERS.test(command);
}

/** Commands with which a manager moves index, work tree and branch; people seldom type them. */
const MOVERS = /^(read-tree|update-ref|update-index|checkout-index)$/;

/** Whether what a process starts is ours: it is this one, or a launcher of it. */
async function isOurs(id: number): Promise<boolean> {
  if (id === process.pid) return true;
  return parentIn(await statusOf(id)) === process.pid && isLauncher(await argumentsOf(id));
}

function parentIn(status: string): number {
  return Number(/^PPid:\t(\d+)/m.exec(status)?.[1]);
}

function statusOf(id: number | string): Promise<string> {
  return readFile(`/proc/${id}/status`, 'utf8').catch(() => '');
}

async function argumentsOf(id: number | string): Promise<string[]> {
  const text = await readFile(`/proc/${id}/cmdline`, 'utf8').catch(() => '');
  return text.split('\0').slice(0, -1);
}

/**
 * Whether a process is a git at such a command in one of these folders, and no child of ours. It can hold a lock whose
 * file it has closed: `git commit -a` does while the editor is open. Where its folder may not be seen, it counts as
 * one.
 */
async function isGitIn(
  id: string,
  folders: readonly string[],
  isMeant: (command: string) => boolean,
): Promise<boolean> {
  const status = await statusOf(id);
  if (!/^Name:\tgit/m.test(status) || /^State:\tZ/m.test(status)) return false;
  if (await isOurs(parentIn(status))) return false;
  const [, command = ''] = await argumentsOf(id);
  if (!isMeant(command)) return false;
  const cwd = await readlink(`/proc/${id}/cwd`).catch((error: NodeJS.ErrnoException) =>
    error.code === 'EACCES' ? null : '',
  );
  return cwd === null || folders.some((folder) => cwd === folder || cwd.startsWith(`${folder}/`));
}
