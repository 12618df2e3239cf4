import { open, readdir, readFile, stat, unlink } from 'node:fs/promises';
import { basename, dirname, resolve } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { RepositoryConflict } from '../../source.ts';
import { GitFailure } from '../process/run.ts';
import type { Repository } from '../repository/repository.ts';
import { REF_TABLES } from '../repository/sync-ref.ts';
import { hasOrphans, isHeld, isOpen } from './holders.ts';

/** How long a lock of another git process is waited for, and how often it is tried; milliseconds. */
const PATIENCE = 5000;
const INTERVAL = 50;
/**
 * Milliseconds between two checks of whether the lock's process is alive: each looks at all processes.
 */
const LOOK_INTERVAL = 1000;

/** A lock that nobody holds is left alone until it is so old: its process may be about to open it (milliseconds). */
export const DEAD_AFTER = 2000;
/** Where nobody can say who has a file open, age alone has to do: longer than git works, and most editors are open. */
export const DEAD_AFTER_BLINDLY = 15 * 60_000;

/** git's messages for a locked index and a locked ref, in files and in tables. Nothing was moved then. */
const LOCKED =
  /Unable to create '.*\.lock': File exists|cannot lock references|transaction prepare: data (is locked|concurrently modified)/;

/** Whether git failed because another process of git is, or was, at work in the repository. */
export function isLocked(error: unknown): boolean {
  return error instanceof LockTaken || (error instanceof GitFailure && LOCKED.test(error.stderr));
}

/** The lock that the manager wants is taken. */
class LockTaken extends Error {
  override readonly name = 'LockTaken';
}

/** The content of a manager's lock: its process id. git's own locks hold the new content of the file, or nothing. */
const OURS = /^holdfast ([1-9]\d*)\n$/;
/** Most bytes of such a lock. */
const OURS_SIZE = 32;

/** The lock files of one repository. */
export interface Locks {
  /** Does something that needs a lock: waits some seconds for a living holder, and removes the lock of a dead one. */
  wait<T>(act: () => Promise<T>): Promise<T>;
  /** Takes the lock of the index, waiting as `wait` does; resolves to the function that releases it. */
  holdIndex(): Promise<() => Promise<void>>;
  /**
   * Waits some seconds for what a dead manager's git is still doing to index and branch. Rejects as `conflict` when
   * it does not end. Where nobody can tell, it resolves at once.
   */
  settle(): Promise<void>;
  /** Removes the locks of dead processes; resolves to the names of these files. */
  clear(): Promise<string[]>;
}

/** `onCleared` is called with the locks that were removed, by their paths in the repository's folder. */
export function createLocks(repository: Repository, onCleared: (files: string[]) => void): Locks {
  const clear = async (): Promise<string[]> => {
    const cleared = await clearDeadLocks(repository);
    if (cleared.length > 0) onCleared(cleared);
    return cleared;
  };
  const wait = async <T>(act: () => Promise<T>): Promise<T> => {
    const deadline = performance.now() + PATIENCE;
    let looked = -Infinity;
    const clearNow = async (now: number): Promise<boolean> => {
      if (now - looked <= LOOK_INTERVAL) return false;
      looked = now;
      return (await clear()).length > 0;
    };
    const attempt = (): Promise<T> =>
      act().catch(async (error: unknown) => {
        const now = performance.now();
        if (!isLocked(error) || now > deadline) throw error;
        // A dead manager's half-made write is open to a person's commit until the lock is taken again: at once.
        if (!(await clearNow(now))) await sleep(INTERVAL);
        return attempt();
      });
    return attempt();
  };
  const settle = async (): Promise<void> => {
    const deadline = performance.now() + PATIENCE;
    while ((await hasOrphans(foldersOf(repository))) === true) {
      if (performance.now() > deadline) throw new RepositoryConflict(STILL_AT_WORK);
      await sleep(INTERVAL);
    }
  };
  const holdIndex = (): Promise<() => Promise<void>> =>
    wait(() => takeLock(`${repository.gitFolder}/index.lock`));
  return { wait, holdIndex, settle, clear };
}

/** Makes a lock as git does; the file stays open until it is released, so that others see that its process lives. */
async function takeLock(path: string): Promise<() => Promise<void>> {
  const file = await open(path, 'wx').catch((error: NodeJS.ErrnoException) => {
    throw error.code === 'EEXIST' ? new LockTaken(`${path} is there`) : error;
  });
  const letGo = async (): Promise<void> => {
    await unlink(path).catch(() => undefined);
    await file.close();
  };
  try {
    await file.write(`holdfast ${process.pid}\n`);
    return letGo;
  } catch (error) {
    await letGo();
    throw error;
  }
}

const STILL_AT_WORK = 'a git process of an earlier manager is still running in the checkout; end it';

/** The folders of a repository. */
export type Folders = Pick<Repository, 'context' | 'gitFolder' | 'commonFolder'>;

/** Where a git that works in this work tree has its folder. */
function foldersOf({ context, gitFolder, commonFolder }: Folders): string[] {
  return [context.folder, gitFolder, commonFolder];
}

/** Where one has it that works in any work tree of the repository: all share refs and objects. */
export async function allFoldersOf(folders: Folders): Promise<string[]> {
  const { commonFolder } = folders;
  const names = await readdir(`${commonFolder}/worktrees`).catch((): string[] => []);
  const linked = names.map(async (name) => {
    const folder = `${commonFolder}/worktrees/${name}`;
    // From there, where somebody likes relative paths.
    return resolve(folder, (await readFile(`${folder}/gitdir`, 'utf8').catch(() => '')).trimEnd());
  });
  const links = [commonFolder, ...(await Promise.all(linked))];
  const tops = links.filter((path) => basename(path) === '.git').map((path) => dirname(path));
  return [...foldersOf(folders), ...tops];
}

async function clearDeadLocks(repository: Repository): Promise<string[]> {
  const { commonFolder, gitFolder } = repository;
  const cleared: string[] = [];
  for (const path of await lockFiles(repository)) {
    if (!(await isDead(path, repository))) continue;
    const folder = path.startsWith(`${gitFolder}/`) ? gitFolder : commonFolder;
    await unlink(path).then(
      () => cleared.push(path.slice(folder.length + 1)),
      () => undefined,
    );
  }
  return cleared;
}

/** Every lock that can stand in the way of a write of ours. */
async function lockFiles({ gitFolder, commonFolder }: Repository): Promise<string[]> {
  const fixed = ['index', 'HEAD'].map((name) => `${gitFolder}/${name}.lock`);
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
  return [...fixed, ...shared, ...refs.flat()];
}

/**
 * Whether the process that made a lock is gone: nobody has it open and, for one of git's, it is old enough, and no git
 * works in the repository. Of another user's lock that cannot be seen, so it is left alone.
 */
async function isDead(path: string, repository: Repository): Promise<boolean> {
  const before = await stat(path).catch(() => null);
  if (before === null || !before.isFile() || !maySee(before.uid)) return false;
  const maker = before.size > OURS_SIZE ? null : await makerOf(path);
  const isLeft =
    maker === null ? await isLeftByGit(path, before, repository) : await isLeftByOurs(path, maker);
  if (!isLeft) return false;
  const after = await stat(path).catch(() => null);
  return after?.ino === before.ino && after.mtimeMs === before.mtimeMs;
}

/** The id of the manager that made a lock; null for one of git's. */
async function makerOf(path: string): Promise<number | null> {
  const [, id] = OURS.exec(await readFile(path, 'latin1').catch(() => '')) ?? [];
  return id === undefined ? null : Number(id);
}

/** A manager has its lock open for as long as it is its own, so nobody has to wait until it is old. */
async function isLeftByOurs(path: string, maker: number): Promise<boolean> {
  const held = await isOpen(path);
  return held === null ? !isAlive(maker) : !held;
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
  const isOwn = [`${gitFolder}/index.lock`, `${gitFolder}/HEAD.lock`].includes(path);
  const held = await isHeld(path, isOwn ? foldersOf(repository) : await allFoldersOf(repository));
  // A clock that was set back makes a lock look younger than nothing; that is old too.
  const age = Math.abs(Date.now() - mtimeMs);
  return held !== true && age >= (held === null ? DEAD_AFTER_BLINDLY : DEAD_AFTER);
}

function maySee(owner: number): boolean {
  const user = process.getuid?.();
  return user === undefined || user === 0 || user === owner;
}
