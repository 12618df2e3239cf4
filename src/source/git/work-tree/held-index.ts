import { copyFile, link, rename, rm, stat, utimes } from 'node:fs/promises';
import { ignoreMissing } from '../../../disk/there.ts';
import type { Faults } from '../../../faults.ts';
import type { GitCommand } from '../process/commands.ts';
import type { Launcher } from '../process/launcher.ts';
import { type GitContext, GitFailure, runGit } from '../process/run.ts';
import type { ObjectReader } from '../read/objects.ts';
import type { Maintenance } from '../repository/maintenance.ts';
import type { Repository } from '../repository/repository.ts';
import { isLocked, type Locks } from './locks.ts';

/** A work tree of this machine, and what working on it needs. */
export interface Checkout {
  repository: Repository;
  objects: ObjectReader;
  launcher: Launcher;
  locks: Locks;
  faults: Faults;
  maintenance: Maintenance;
}

/** A checkout whose `index.lock` is ours: nobody else changes the index, nor switches branches. */
export interface HeldCheckout extends Checkout {
  isHeld: true;
}

/**
 * Does something while the index is locked as git locks it; a living holder is waited for. Where it is ours already,
 * it stays so. HEAD can still change in the moment after a person's switch has let the lock go.
 */
export async function holdingIndex<T>(
  checkout: Checkout | HeldCheckout,
  act: (held: HeldCheckout) => Promise<T>,
): Promise<T> {
  if ('isHeld' in checkout) return act(checkout);
  const letGo = await checkout.locks.holdIndex();
  try {
    return await act({ ...checkout, isHeld: true });
  } finally {
    await letGo();
  }
}

/**
 * Runs a command that changes the index. git takes the lock that is ours: it works on a second name of the index, under
 * a lock of that name, and what it made takes the index's place in one step, as its own would.
 */
export async function changeIndex(
  { repository, launcher }: HeldCheckout,
  command: GitCommand,
  input = '',
): Promise<string> {
  const index = `${repository.gitFolder}/index`;
  const own = secondIndex(repository);
  await nameAgain(index, own);
  const context = indexContext(repository);
  const run = () => (input === '' ? launcher.run(context, command) : runGit(context, command, input));
  try {
    return await run().catch(async (error: unknown) => {
      if (!isLocked(error) && !isQuietlyLocked(error)) throw error;
      // Nobody else uses these names, and whoever may is held off by our lock: a git that died has left it.
      await rm(`${own}.lock`, { force: true });
      return run();
    });
  } finally {
    // Also after a failure: refreshing fails where a file is changed, and has looked at all the others.
    await rename(own, index).catch(ignoreMissing);
  }
}

/** A quiet refresh of the index that finds a lock ends so, and says nothing (git's builtin/update-index.c). */
function isQuietlyLocked(error: unknown): boolean {
  return error instanceof GitFailure && error.exitCode === 128 && error.stderr === '';
}

/** Has what changes the index start while there is other work to do. */
export function prepareIndex({ repository, launcher }: Checkout): void {
  launcher.prepare(indexContext(repository));
}

function secondIndex({ gitFolder }: Repository): string {
  return `${gitFolder}/holdfast-index`;
}

function indexContext(repository: Repository): GitContext {
  const { context } = repository;
  return { ...context, env: { ...context.env, GIT_INDEX_FILE: secondIndex(repository) } };
}

/** git never writes into an index, it makes a new one: a second name serves as a copy does, and keeps the times. */
async function nameAgain(index: string, own: string): Promise<void> {
  try {
    await link(index, own);
  } catch (error) {
    const { code } = error as NodeJS.ErrnoException;
    // A person removes an index that is damaged: it must not come back under the name that a failed write left.
    if (code === 'ENOENT') return await rm(own, { force: true });
    if (code === 'EEXIST') {
      // Of a process that died; or both name one file still, which a command left as it was.
      await rm(own);
      return nameAgain(index, own);
    }
    if (code === 'ENOSPC' || code === 'EROFS') throw error;
    await copyFile(index, own);
    // A file that is not older than the index may have changed since: a copy must not look younger.
    const before = Math.floor((await stat(index)).mtimeMs / 1000);
    await utimes(own, before, before);
  }
}
