import { readIfThere } from '../../../disk/read.ts';
import { currentBranch, realBranch, tipOf } from './refs.ts';
import type { Repository } from './repository.ts';

/** What of a repository is read. */
export interface Followed {
  /** Full name of the branch that writes go to; null where there is none. */
  branch: string | null;
  /** The commit's id, or `HEAD` for a detached one; null for a branch without a commit. */
  at: string | null;
  /** Whether HEAD decides: then its reflog tells where this was before. */
  isByHead: boolean;
}

/** A branch that is followed whatever is checked out. */
export async function followedBranch(repository: Repository, name: string): Promise<Followed> {
  const branch = await realBranch(repository, name);
  return { ...(await onBranch(repository, branch)), isByHead: false };
}

/**
 * What is checked out; and while a person rebases or bisects, what was before. HEAD is at commits of the way then,
 * which nobody means to serve, until the rebase moves the branch, or the bisection goes back to where it began. A HEAD
 * that is detached on purpose is followed as it is.
 */
export async function followedHead(repository: Repository): Promise<Followed> {
  const found = await startOfWork(repository);
  return { branch: null, at: 'HEAD', ...found, isByHead: true };
}

/** Null for a HEAD that is followed as it is. */
async function startOfWork(repository: Repository): Promise<Start | null> {
  const branch = await currentBranch(repository);
  if (branch !== null) return onBranch(repository, branch);
  return (await rebased(repository)) ?? (await bisected(repository));
}

type Start = Pick<Followed, 'branch' | 'at'>;

async function onBranch(repository: Repository, branch: string): Promise<Start> {
  return { branch, at: await tipOf(repository, branch) };
}

/** Two kinds of rebase, each with a folder of notes. `git am` has one of them too, and leaves HEAD alone. */
async function rebased(repository: Repository): Promise<Start | null> {
  const { gitFolder } = repository;
  for (const folder of ['rebase-merge', 'rebase-apply']) {
    const name = await readNote(`${gitFolder}/${folder}/head-name`);
    if (name === 'detached HEAD')
      return startOf(repository, await readNote(`${gitFolder}/${folder}/orig-head`));
    if (name.startsWith('refs/heads/')) return onBranch(repository, name);
  }
  return null;
}

async function bisected(repository: Repository): Promise<Start | null> {
  return startOf(repository, await readNote(`${repository.gitFolder}/BISECT_START`));
}

/** Where git wrote down that a person began: at a commit, or on a branch by its short name. */
async function startOf(repository: Repository, note: string): Promise<Start | null> {
  if (note === '') return null;
  if (/^([0-9a-f]{40}|[0-9a-f]{64})$/.test(note)) return { branch: null, at: note };
  return onBranch(repository, `refs/heads/${note}`);
}

/**
 * The text of a file of git's, which ends with a line break; empty where there is none. Rejects where somebody else's
 * rebase may not be looked at: its commits are not to be served.
 */
async function readNote(path: string): Promise<string> {
  return ((await readIfThere(path)) ?? '').replace(/\n$/, '');
}
