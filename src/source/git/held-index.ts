import { copyFile, link, rename, rm, stat, utimes } from 'node:fs/promises';
import type { GitCommand } from './commands.ts';
import { runGit } from './run.ts';
import type { Checkout } from './work-tree.ts';

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
  { repository: { context, gitFolder } }: HeldCheckout,
  command: GitCommand,
  input = '',
): Promise<string> {
  const index = `${gitFolder}/index`;
  const own = `${gitFolder}/holdfast-index`;
  // What a process left that died; nobody else uses these names, and the lock is ours.
  await Promise.all([own, `${own}.lock`].map((path) => rm(path, { force: true })));
  await nameAgain(index, own);
  try {
    return await runGit({ ...context, env: { ...context.env, GIT_INDEX_FILE: own } }, command, input);
  } finally {
    // Also after a failure: refreshing fails where a file is changed, and has looked at all the others.
    await rename(own, index).catch(ignoreMissing);
    // Two names of one file are not renamed.
    await rm(own, { force: true });
  }
}

/** git never writes into an index, it makes a new one: a second name serves as a copy does, and keeps the times. */
async function nameAgain(index: string, own: string): Promise<void> {
  try {
    await link(index, own);
  } catch (error) {
    const { code } = error as NodeJS.ErrnoException;
    if (code === 'ENOENT') return;
    if (code === 'ENOSPC' || code === 'EROFS') throw error;
    await copyFile(index, own);
    // A file that is not older than the index may have changed since: a copy must not look younger.
    const before = Math.floor((await stat(index)).mtimeMs / 1000);
    await utimes(own, before, before);
  }
}

function ignoreMissing(error: NodeJS.ErrnoException): void {
  if (error.code !== 'ENOENT') throw error;
}
