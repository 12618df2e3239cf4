import { readIfExists } from '../../../disk/read.ts';
import type { Repository } from '../repository/repository.ts';
import { branchTip, currentBranch, realBranch } from './tips.ts';

/** The branch or commit of a repository that is served. */
export interface Followed {
  /** Full name of the branch that writes go to; null if there is none. */
  branch: string | null;
  /** The commit's id, or `HEAD` if HEAD is detached; null for a branch without a commit. */
  at: string | null;
}

/** Follows a branch, whatever is checked out. */
export async function followedBranch(repository: Repository, name: string): Promise<Followed> {
  const branch = await realBranch(repository, name);
  return onBranch(repository, branch);
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
  if (branch !== null) return onBranch(repository, branch);
  return (await startOfRebase(repository)) ?? (await startOfBisection(repository));
}

async function onBranch(repository: Repository, branch: string): Promise<Followed> {
  return { branch, at: await branchTip(repository, branch) };
}

/** git has two kinds of rebase, each with a folder for its state. `git am` uses one of them too, but leaves HEAD alone. */
async function startOfRebase(repository: Repository): Promise<Followed | null> {
  const { gitFolder } = repository;
  for (const folder of ['rebase-merge', 'rebase-apply']) {
    const name = await readState(`${gitFolder}/${folder}/head-name`);
    if (name === 'detached HEAD')
      return parseStart(repository, await readState(`${gitFolder}/${folder}/orig-head`));
    if (name.startsWith('refs/heads/')) return onBranch(repository, name);
  }
  return null;
}

async function startOfBisection(repository: Repository): Promise<Followed | null> {
  return parseStart(repository, await readState(`${repository.gitFolder}/BISECT_START`));
}

/** Parses where git recorded that an operation started: the id of a commit, or the short name of a branch. */
async function parseStart(repository: Repository, start: string): Promise<Followed | null> {
  if (start === '') return null;
  if (/^([0-9a-f]{40}|[0-9a-f]{64})$/.test(start)) return { branch: null, at: start };
  return onBranch(repository, `refs/heads/${start}`);
}

/**
 * Resolves to the text of one of git's state files, without its final line break; empty if there is no such file.
 * Rejects if it cannot be read, for example because another user is rebasing: the commits of a rebase must not be served.
 */
async function readState(path: string): Promise<string> {
  return ((await readIfExists(path)) ?? '').replace(/\n$/, '');
}
