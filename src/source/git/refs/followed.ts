import { readIfExists } from '../../../disk/read.ts';
import type { Repository } from '../repository/repository.ts';
import { currentBranch, realBranch } from './tips.ts';

/** The branch or commit of a repository that is served. */
export interface Followed {
  /** Full name of the branch that writes go to; null if there is none. */
  branch: string | null;
  /** What names the commit: the branch, `HEAD` if HEAD is detached, or an id. */
  at: string;
}

/** Follows a branch, whatever is checked out. */
export async function followedBranch(repository: Repository, name: string): Promise<Followed> {
  return onBranch(await realBranch(repository, name));
}

/**
 * Follows what is checked out or, during a rebase or bisection, what was checked out when it started. HEAD is then at
 * intermediate commits that are not meant to be served, until the rebase moves the branch or the bisection returns to
 * its start. A HEAD that someone detached on purpose is followed as it is.
 */
export async function followedHead(repository: Repository): Promise<Followed> {
  const position = await branchOrStart(repository);
  return { branch: null, at: 'HEAD', ...position };
}

/** Resolves to null if HEAD is detached on purpose. */
async function branchOrStart(repository: Repository): Promise<Followed | null> {
  const branch = await currentBranch(repository);
  if (branch !== null) return onBranch(branch);
  return (await startOfRebase(repository)) ?? (await startOfBisection(repository));
}

function onBranch(branch: string): Followed {
  return { branch, at: branch };
}

/** git has two kinds of rebase, each with a folder for its state. `git am` uses one of them too, but leaves HEAD alone. */
async function startOfRebase(repository: Repository): Promise<Followed | null> {
  const { gitFolder } = repository;
  for (const folder of ['rebase-merge', 'rebase-apply']) {
    const name = await readState(`${gitFolder}/${folder}/head-name`);
    if (name === 'detached HEAD') return parseStart(await readState(`${gitFolder}/${folder}/orig-head`));
    if (name.startsWith('refs/heads/')) return onBranch(name);
  }
  return null;
}

async function startOfBisection(repository: Repository): Promise<Followed | null> {
  return parseStart(await readState(`${repository.gitFolder}/BISECT_START`));
}

/** Parses where git recorded that an operation started: the id of a commit, or the short name of a branch. */
function parseStart(start: string): Followed | null {
  if (start === '') return null;
  if (/^([0-9a-f]{40}|[0-9a-f]{64})$/.test(start)) return { branch: null, at: start };
  return onBranch(`refs/heads/${start}`);
}

/**
 * Resolves to the text of one of git's state files, without its final line break; empty if there is no such file.
 * Rejects if it cannot be read, for example because another user is rebasing: the commits of a rebase must not be served.
 */
async function readState(path: string): Promise<string> {
  return ((await readIfExists(path)) ?? '').replace(/\n$/, '');
}
