import { open, readdir, readFile, stat, unlink } from 'node:fs/promises';
import { basename, dirname, resolve } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { RepositoryConflict } from '../../source.ts';
import { GitFailure } from '../process/run.ts';
import type { Repository } from '../repository/repository.ts';
import { REF_TABLES } from '../repository/sync-ref.ts';
import { hasOrphans, isHeld, isOpen } from './holders.ts';

/** How long to wait for a lock of another git process, and how long between two attempts (milliseconds). */
const PATIENCE = 5000;
const INTERVAL = 50;
/** Milliseconds between two searches for dead locks, each of which inspects all processes. */
const CLEAR_INTERVAL = 1000;

/** Age at which an unheld lock counts as dead (milliseconds): the process of a younger one may be about to open it. */
export const DEAD_AFTER = 2000;
/** The same where its process may not be visible: longer than git works, and than most editors stay open. */
export const DEAD_AFTER_BLINDLY = 15 * 60_000;

/** git's messages for a locked index, and for a locked ref in files and in tables. git has then moved nothing. */
const LOCKED =
  /Unable to create '.*\.lock': File exists|cannot lock references|transaction prepare: data (is locked|concurrently modified)/;

/** Whether something failed because another git process holds a lock of the repository, or left it behind. */
export function isLocked(error: unknown): boolean {
  return error instanceof LockTaken || (error instanceof GitFailure && LOCKED.test(error.stderr));
}

/** A lock that the manager tried to create exists. */
class LockTaken extends Error {
  override readonly name = 'LockTaken';
}

/** Content of a manager's lock, with its process id. A lock of git contains the new content of its file, or nothing. */
const MANAGER_LOCK = /^holdfast ([1-9]\d*)\n$/;
/** Most bytes of a manager's lock. */
const MANAGER_LOCK_SIZE = 32;

/** The lock files of one repository. */
export interface Locks {
  /** Runs `act`, which needs a lock: waits some seconds for a running holder, and removes the lock of a dead one. */
  wait<T>(act: () => Promise<T>): Promise<T>;
  /** Takes the lock of the index, waiting as `wait` does; resolves to a function that releases it. */
  holdIndex(): Promise<() => Promise<void>>;
  /**
   * Waits some seconds for a git of a dead manager that may still move the index or the branch. Rejects as `conflict` if
   * that git does not end. Resolves at once if this machine cannot tell.
   */
  waitForOrphans(): Promise<void>;
  /** Removes the locks of dead processes, or only the one of this ref; resolves to their names. */
  clear(ref?: string): Promise<string[]>;
}

/** `onCleared` is called with the locks that were removed, by their paths below their git folder. */
export function createLocks(repository: Repository, onCleared: (files: string[]) => void): Locks {
  const clear = async (ref?: string): Promise<string[]> => {
    const paths =
      ref === undefined ? await lockFiles(repository) : [`${repository.commonFolder}/${ref}.lock`];
    const cleared = await clearDeadLocks(repository, paths);
    if (cleared.length > 0) onCleared(cleared);
    return cleared;
  };
  const wait = async <T>(act: () => Promise<T>): Promise<T> => {
    const deadline = performance.now() + PATIENCE;
    let clearedAt = -Infinity;
    const clearIfDue = async (now: number): Promise<boolean> => {
      if (now - clearedAt <= CLEAR_INTERVAL) return false;
      clearedAt = now;
      return (await clear()).length > 0;
    };
    const attempt = (): Promise<T> =>
      act().catch(async (error: unknown) => {
        const now = performance.now();
        if (!isLocked(error) || now > deadline) throw error;
        // No pause after a lock was removed: until it is taken again, someone's commit can include a half-made write.
        if (!(await clearIfDue(now))) await sleep(INTERVAL);
        return attempt();
      });
    return attempt();
  };
  const waitForOrphans = async (): Promise<void> => {
    const deadline = performance.now() + PATIENCE;
    while ((await hasOrphans(foldersOf(repository))) === true) {
      if (performance.now() > deadline) throw new RepositoryConflict(ORPHAN_RUNS);
      await sleep(INTERVAL);
    }
  };
  const holdIndex = (): Promise<() => Promise<void>> =>
    wait(() => takeLock(`${repository.gitFolder}/index.lock`));
  return { wait, holdIndex, waitForOrphans, clear };
}

/** Creates a lock as git does. Its file stays open until it is released, which shows others that its process is alive. */
async function takeLock(path: string): Promise<() => Promise<void>> {
  const file = await open(path, 'wx').catch((error: NodeJS.ErrnoException) => {
    throw error.code === 'EEXIST' ? new LockTaken(`${path} is there`) : error;
  });
  const release = async (): Promise<void> => {
    await unlink(path).catch(() => undefined);
    await file.close();
  };
  try {
    await file.write(`holdfast ${process.pid}\n`);
    return release;
  } catch (error) {
    await release();
    throw error;
  }
}

const ORPHAN_RUNS = 'a git process of an earlier manager is still running in the checkout; end it';

/** A repository's work tree and git folders. */
export type Folders = Pick<Repository, 'context' | 'gitFolder' | 'commonFolder'>;

/** The folders that a git in this work tree can run in. */
function foldersOf({ context, gitFolder, commonFolder }: Folders): string[] {
  return [context.folder, gitFolder, commonFolder];
}

/** The folders that a git in any work tree of the repository can run in: all work trees share refs and objects. */
export async function allFoldersOf(folders: Folders): Promise<string[]> {
  const { commonFolder } = folders;
  const names = await readdir(`${commonFolder}/worktrees`).catch((): string[] => []);
  const linked = names.map(async (name) => {
    const folder = `${commonFolder}/worktrees/${name}`;
    // With `worktree.useRelativePaths`, the path starts at this folder.
    return resolve(folder, (await readFile(`${folder}/gitdir`, 'utf8').catch(() => '')).trimEnd());
  });
  const dotGits = [commonFolder, ...(await Promise.all(linked))];
  const tops = dotGits.filter((path) => basename(path) === '.git').map((path) => dirname(path));
  return [...foldersOf(folders), ...tops];
}

async function clearDeadLocks(repository: Repository, paths: readonly string[]): Promise<string[]> {
  const { commonFolder, gitFolder } = repository;
  const cleared: string[] = [];
  for (const path of paths) {
    if (!(await isDead(path, repository))) continue;
    const folder = path.startsWith(`${gitFolder}/`) ? gitFolder : commonFolder;
    await unlink(path).then(
      () => cleared.push(path.slice(folder.length + 1)),
      () => undefined,
    );
  }
  return cleared;
}

/** Resolves to the paths of all locks that can block a write. */
async function lockFiles({ gitFolder, commonFolder }: Repository): Promise<string[]> {
  const own = ['index', 'HEAD'].map((name) => `${gitFolder}/${name}.lock`);
  const shared = ['packed-refs', 'shallow'].map((name) => `${commonFolder}/${name}.lock`);
  const folders = [
    ...['refs/heads', 'refs/holdfast', REF_TABLES].map((name) => `${commonFolder}/${name}`),
    ...(gitFolder === commonFolder ? [] : [`${gitFolder}/${REF_TABLES}`]),
  ];
  const refs = await Promise.all(
    folders.map(async (folder) => {
      const names = await readdir(folder, { recursive: true }).catch(() => []);
      return names.filter((name) => name.endsWith('.lock')).map((name) => `${folder}/${name}`);
    }),
  );
  return [...own, ...shared, ...refs.flat()];
}

/**
 * Whether the process that made a lock is gone: no process has the file open and, for a lock of git, the file is old
 * enough and no git runs in the repository. Another user's lock is left alone, since its process cannot be inspected.
 */
async function isDead(path: string, repository: Repository): Promise<boolean> {
  const before = await stat(path).catch(() => null);
  if (before === null || !before.isFile() || !canInspect(before.uid)) return false;
  const manager = before.size > MANAGER_LOCK_SIZE ? null : await managerOf(path);
  const isLeft =
    manager === null ? await isLeftByGit(path, before, repository) : await isLeftByManager(path, manager);
  if (!isLeft) return false;
  const after = await stat(path).catch(() => null);
  return after?.ino === before.ino && after.mtimeMs === before.mtimeMs;
}

/** Resolves to the process id of the manager that made a lock; null for a lock of git. */
async function managerOf(path: string): Promise<number | null> {
  const [, id] = MANAGER_LOCK.exec(await readFile(path, 'latin1').catch(() => '')) ?? [];
  return id === undefined ? null : Number(id);
}

/** A manager keeps its lock open while it holds it, so the age of the lock does not matter. */
async function isLeftByManager(path: string, manager: number): Promise<boolean> {
  const held = await isOpen(path);
  return held === null ? !isAlive(manager) : !held;
}

function isAlive(id: number): boolean {
  try {
    process.kill(id, 0);
    return true;
  } catch (error) {
    return (error as NodeJS.ErrnoException).code !== 'ESRCH';
  }
}

async function isLeftByGit(
  path: string,
  { mtimeMs }: { mtimeMs: number },
  repository: Repository,
): Promise<boolean> {
  const { gitFolder } = repository;
  const isOfWorkTree = [`${gitFolder}/index.lock`, `${gitFolder}/HEAD.lock`].includes(path);
  const held = await isHeld(path, isOfWorkTree ? foldersOf(repository) : await allFoldersOf(repository));
  // After the clock was set back, a lock can be from the future; that counts as age, too.
  const age = Math.abs(Date.now() - mtimeMs);
  return held !== true && age >= (held === null ? DEAD_AFTER_BLINDLY : DEAD_AFTER);
}

function canInspect(owner: number): boolean {
  const user = process.getuid?.();
  return user === undefined || user === 0 || user === owner;
}
