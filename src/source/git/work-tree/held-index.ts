import { copyFile, link, rename, rm, stat, utimes } from 'node:fs/promises';
import { ignoreMissing } from '../../../disk/exists.ts';
import type { Faults } from '../../../faults.ts';
import type { GitCommand } from '../process/commands.ts';
import type { Launcher } from '../process/launcher.ts';
import { type GitContext, GitFailure, runGit } from '../process/run.ts';
import type { ObjectReader } from '../read/objects.ts';
import type { Maintenance } from '../repository/maintenance.ts';
import type { Repository } from '../repository/repository.ts';
import { isLocked, type Locks } from './locks.ts';

/** A work tree on this machine, with everything that a write to it uses. */
export interface Checkout {
  repository: Repository;
  objects: ObjectReader;
  launcher: Launcher;
  locks: Locks;
  faults: Faults;
  maintenance: Maintenance;
}

/** A checkout whose `index.lock` this process holds: no other process changes the index or switches branches. */
export interface HeldCheckout extends Checkout {
  isHeld: true;
}

/**
 * Runs `act` while holding git's lock of the index, for which it waits if another running process holds it. A checkout
 * that is held already stays held. HEAD can still change for a moment: git writes it after a switch has released the lock.
 */
export async function withIndexLock<T>(
  checkout: Checkout | HeldCheckout,
  act: (held: HeldCheckout) => Promise<T>,
): Promise<T> {
  if ('isHeld' in checkout) return act(checkout);
  const release = await checkout.locks.holdIndex();
  try {
    return await act({ ...checkout, isHeld: true });
  } finally {
    await release();
  }
}

/**
 * Runs a git command that changes the index, although this process holds the index lock: git works on a second name of
 * the index, with a lock of that name, and its result is then renamed over the index, as git itself would do.
 */
export async function changeIndex(
  { repository, launcher }: HeldCheckout,
  command: GitCommand,
  input = '',
): Promise<string> {
  const index = indexPath({ repository });
  const second = secondIndex(repository);
  await linkOrCopy(index, second);
  const context = indexContext(repository);
  const run = () => (input === '' ? launcher.run(context, command) : runGit(context, command, input));
  try {
    return await run().catch(async (error: unknown) => {
      if (!isLocked(error) && !isQuietlyLocked(error)) throw error;
      // Only the holder of the index lock uses this name, so a git that died has left its lock.
      await rm(`${second}.lock`, { force: true });
      return run();
    });
  } finally {
    // Also after a failure: a refresh fails if a file is changed, but has refreshed the others.
    await rename(second, index).catch(ignoreMissing);
  }
}

/** Whether a quiet refresh of the index has found a lock: it then exits without a message (git's builtin/update-index.c). */
function isQuietlyLocked(error: unknown): boolean {
  return error instanceof GitFailure && error.exitCode === 128 && error.stderr === '';
}

/** Starts the process that will change the index, so that `changeIndex` need not wait for it. */
export function prepareIndex({ repository, launcher }: Checkout): void {
  launcher.prepare(indexContext(repository));
}

/** Returns the path of the index of a checkout. */
export function indexPath({ repository }: Pick<Checkout, 'repository'>): string {
  return `${repository.gitFolder}/index`;
}

function secondIndex({ gitFolder }: Repository): string {
  return `${gitFolder}/holdfast-index`;
}

function indexContext(repository: Repository): GitContext {
  const { context } = repository;
  return { ...context, env: { ...context.env, GIT_INDEX_FILE: secondIndex(repository) } };
}

/**
 * Gives the index a second name. git never writes into an index but replaces it, so a hard link is as good as a copy, and
 * keeps the modification time.
 */
async function linkOrCopy(index: string, second: string): Promise<void> {
  try {
    await link(index, second);
  } catch (error) {
    const { code } = error as NodeJS.ErrnoException;
    // Someone may have removed a damaged index: it must not come back from what a failed write left.
    if (code === 'ENOENT') return await rm(second, { force: true });
    if (code === 'EEXIST') {
      // Left by a process that died, or by a command that changed nothing: a rename between two links of a file keeps both.
      await rm(second);
      return linkOrCopy(index, second);
    }
    if (code === 'ENOSPC' || code === 'EROFS') throw error;
    await copyFile(index, second);
    // git checks the content of any file that is not older than the index, so the copy must not look younger than it.
    const seconds = Math.floor((await stat(index)).mtimeMs / 1000);
    await utimes(second, seconds, seconds);
  }
}
