import { access, constants, readdir, readFile, readlink } from 'node:fs/promises';
import { basename } from 'node:path';
import { isLauncher } from '../process/launcher.ts';

/**
 * Whether a running process may hold a lock file: it has the file open, or is a git in one of these folders that locks.
 * Null if this machine cannot tell, or if such a process may run outside of this container.
 */
export async function isHeld(path: string, folders: readonly string[]): Promise<boolean | null> {
  const isSeen = await anyOtherProcess(
    async (id) => (await hasOpen(id, path)) || (await isGitIn(id, folders, mayLock)),
  );
  return isSeen === false && !(await seesAllProcesses()) ? null : isSeen;
}

/** The namespace of process ids that Linux starts with (`PROC_PID_INIT_INO`), to which a container does not belong. */
const FIRST_NAMESPACE = 'pid:[4026531836]';

/**
 * Whether this process sees all others of the machine: it does not in a container, nor where `/proc` hides those of others
 * (`ProtectProc=` of systemd, `hidepid=`). The first process belongs to root, and everybody can see it otherwise.
 */
export async function seesAllProcesses(): Promise<boolean> {
  if ((await readlink('/proc/self/ns/pid').catch(() => '')) !== FIRST_NAMESPACE) return false;
  return access('/proc/1/status', constants.R_OK).then(
    () => true,
    () => false,
  );
}

/** Whether a git that may write runs in one of these folders, not started by this manager; null if unknown. */
export async function isGitWriting(folders: readonly string[]): Promise<boolean | null> {
  return anyOtherProcess((id) => isGitIn(id, folders, mayWrite));
}

/**
 * Whether a git that a dead manager started still runs in one of these folders: it may be about to move the branch or
 * the index. Null if this machine cannot tell.
 */
export async function hasOrphans(folders: readonly string[]): Promise<boolean | null> {
  return anyOtherProcess((id) => isGitIn(id, folders, isMover));
}

/** Whether any process, this one included, has a file open; null if this machine cannot tell. */
export async function isOpen(path: string): Promise<boolean | null> {
  return anyProcess((id) => hasOpen(id, path));
}

function anyOtherProcess(matches: (id: string) => Promise<boolean>): Promise<boolean | null> {
  return anyProcess(async (id) => Number(id) !== process.pid && (await matches(id)));
}

async function anyProcess(matches: (id: string) => Promise<boolean>): Promise<boolean | null> {
  if (process.platform !== 'linux') return null;
  const ids = (await readdir('/proc')).filter((name) => /^\d+$/.test(name));
  for (const id of ids) {
    if (await matches(id)) return true;
  }
  return false;
}

async function hasOpen(id: string, path: string): Promise<boolean> {
  const descriptors = await readdir(`/proc/${id}/fd`).catch(() => []);
  const targets = await Promise.all(
    descriptors.map((fd) => readlink(`/proc/${id}/fd/${fd}`).catch(() => '')),
  );
  return targets.includes(path);
}

/** Commands that only read, and can run for hours with a pager or as a service. They hold no lock whose file is closed. */
const READERS = /^(log|show|diff|blame|grep|shortlog|reflog|help|cat-file|diff-tree|fsmonitor--daemon)$/;

function mayWrite(command: string): boolean {
  return !READERS.test(command);
}

/** Commands that write but lock nothing: a manager joins packs with them, which can take minutes. */
const JOINERS = /^(repack|pack-objects)$/;

function mayLock(command: string): boolean {
  return mayWrite(command) && !JOINERS.test(command);
}

/** Commands with which a manager moves index, work tree and branch; users seldom run them. */
const MOVERS = /^(read-tree|update-ref|update-index|checkout-index)$/;

const PATCH = 'holdfast-patch';

/** Returns the path of the patches that a manager applies to a work tree with this git folder. */
export function patchPath(gitFolder: string): string {
  return `${gitFolder}/${PATCH}`;
}

/** Whether a command moves index, work tree or branch for a manager. Users apply patches, too, but other ones. */
function isMover(command: string, args: readonly string[]): boolean {
  return MOVERS.test(command) || (command === 'apply' && args.some((arg) => basename(arg) === PATCH));
}

/** Whether the children of a process are ours: it is this process or its launcher. */
async function isThisManager(id: number): Promise<boolean> {
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
 * Whether a process is a git in one of these folders, runs a matching command, and is not a child of ours. Such a process
 * can hold a lock whose file it has closed, as `git commit -a` does while the editor is open. A process whose folder may
 * not be read counts as well.
 */
async function isGitIn(
  id: string,
  folders: readonly string[],
  matches: (command: string, args: readonly string[]) => boolean,
): Promise<boolean> {
  const status = await statusOf(id);
  if (!/^Name:\tgit/m.test(status) || /^State:\tZ/m.test(status)) return false;
  if (await isThisManager(parentIn(status))) return false;
  const [, command = '', ...args] = await argumentsOf(id);
  if (!matches(command, args)) return false;
  const cwd = await readlink(`/proc/${id}/cwd`).catch((error: NodeJS.ErrnoException) =>
    error.code === 'EACCES' ? null : '',
  );
  return cwd === null || folders.some((folder) => cwd === folder || cwd.startsWith(`${folder}/`));
}
