import { lstat, readFile, rm, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { HoldfastError, messageOf } from '../../errors.ts';
import { GitFailure } from '../../source/git/process/run.ts';
import type { UserGit } from '../../source/git/user-git.ts';
import { printable } from '../../text/printable.ts';
import { writeNew } from '../check/new-files.ts';

/** The new text of a file, by its path in the repository; null removes it. */
export interface NewText {
  path: string;
  text: string | null;
}

/** Rejects as `conflict` if one of the files has work of the user that is not committed. */
export async function refuseChanged(files: readonly NewText[], git: UserGit): Promise<void> {
  const changed = await git.changedPaths();
  const dirty = files.filter(({ path }) => changed.has(path)).map(({ path }) => printable(path));
  if (dirty.length === 0) return;
  const message = `${dirty.join(', ')} ${dirty.length === 1 ? 'has' : 'have'} changes that are not committed; commit or stash them first. Nothing was changed`;
  throw new HoldfastError('conflict', message);
}

/**
 * Writes all files or, after an error, none and, with a message, commits them. Resolves to the commit; null without a
 * message. If the commit is refused, the files are as before.
 */
export async function applyEdits(
  files: readonly NewText[],
  message: string | null,
  git: UserGit,
): Promise<string | null> {
  const done: (() => Promise<unknown>)[] = [];
  try {
    for (const { path, text } of files) done.push(await applyOne(join(git.top, path), path, text));
    return message === null
      ? null
      : await git.commit(
          files.map(({ path }) => path),
          message,
        );
  } catch (error) {
    for (const putBack of done.reverse()) await putBack();
    if (!(error instanceof GitFailure)) throw error;
    await git.unstage(files.map(({ path }) => path));
    const said = error.stderr.trim() || messageOf(error);
    throw new HoldfastError(
      'unavailable',
      `git refused the commit, and nothing was changed:\n${said}`,
      {},
      error,
    );
  }
}

/** Writes or removes one file; resolves to a function that puts it back. */
async function applyOne(path: string, shown: string, text: string | null): Promise<() => Promise<unknown>> {
  const found = await lstat(path).catch(() => null);
  if (found === null) {
    if (text === null) return async () => undefined;
    await writeNew(path, text);
    return () => rm(path, { force: true });
  }
  if (!found.isFile()) throw new HoldfastError('conflict', `${printable(shown)} is not a file`);
  const old = await readFile(path);
  if (text === null) await rm(path);
  else await writeFile(path, text);
  return () => writeFile(path, old);
}
