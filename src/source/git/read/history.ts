import type { FolderHistory } from '../../../ids/ids-reader.ts';
import { commands } from '../process/commands.ts';
import { listNames } from '../process/names.ts';
import { OutputTooLarge, runGit, TimeLimitExceeded } from '../process/run.ts';
import { isShallow, type Repository } from '../repository/repository.ts';

/** Milliseconds for the walk over the whole history; it took 14 s for 2,000 commits of 10,000 files in one folder. */
const HISTORY_TIME_LIMIT = 120_000;

/** `Reader.history`. */
export async function readHistory(repository: Repository): Promise<FolderHistory> {
  const { context, prefix } = repository;
  let times = '';
  let names: ReadonlySet<string> = new Set();
  let isComplete = false;
  try {
    times = await runGit(context, commands.newestCommits());
    names = await listNames(
      { ...context, timeLimit: HISTORY_TIME_LIMIT },
      commands.historyPaths(prefix || '.'),
    );
    isComplete = !(await isShallow(repository));
  } catch {
    // A ref that names a missing object, as in a damaged clone, must not prevent a start with what is there.
  }
  const newestCommit = Math.max(0, ...linesOf(times).map(Number));
  return { paths: pathsBelow(prefix, names), newestCommit, isComplete };
}

/** `Reader.touchedPaths`. */
export async function readTouched(
  repository: Repository,
  from: string | null,
  to: string,
): Promise<Set<string> | null> {
  const { context, prefix } = repository;
  if (from === to) return new Set();
  if (await isShallow(repository)) return null;
  try {
    return pathsBelow(prefix, await listNames(context, commands.touchedPaths(from, to, prefix || '.')));
  } catch (error) {
    // Trying again cannot help: a commit with so many files stays in the history, even when it is reverted.
    if (error instanceof OutputTooLarge || (from !== null && error instanceof TimeLimitExceeded)) return null;
    throw error;
  }
}

function linesOf(text: string): string[] {
  return text.split('\n').filter(Boolean);
}

/** Converts names from `log --name-only -z` to paths below the folder `prefix`, and drops names outside of it. */
function pathsBelow(prefix: string, names: Iterable<string>): Set<string> {
  const paths = new Set<string>();
  for (const name of names) {
    const path = name.replace(/^\n+/, '');
    if (prefix === '') paths.add(path);
    else if (path.startsWith(`${prefix}/`)) paths.add(path.slice(prefix.length + 1));
  }
  paths.delete('');
  return paths;
}
