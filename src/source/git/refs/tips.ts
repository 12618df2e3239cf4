import { lstat } from 'node:fs/promises';
import { readIfExists, readSmallFile } from '../../../disk/read.ts';
import { HoldfastError } from '../../../errors.ts';
import { commands, type GitCommand } from '../process/commands.ts';
import { objectId } from '../process/object-ids.ts';
import { askGit, runGit, stderrOf } from '../process/run.ts';
import type { Repository } from '../repository/repository.ts';

/** What reading refs needs of a repository. */
type RefStore = Pick<Repository, 'context' | 'commonFolder'>;

/** Resolves to the ids that refs name, of objects of any type; null for each ref that does not exist. */
export async function refTips({ context }: RefStore, refs: readonly string[]): Promise<(string | null)[]> {
  const lines = (await runGit(context, commands.refTip(...refs))).split('\n');
  return refs.map((ref) => {
    const line = lines.find((text) => text.endsWith(` ${ref}`));
    return line === undefined ? null : objectId(line.slice(0, line.indexOf(' ')));
  });
}

/**
 * git's messages for a ref that is not where it was expected. A broken ref "cannot be resolved" either, but there git
 * adds the reason after the name.
 */
const NOT_AS_EXPECTED =
  /cannot lock ref '[^']*': (is at|reference already exists|reference is missing|unable to resolve reference '[^']*'$)/m;

/** Whether git refused to move a ref because the ref was not where it was expected. */
export function isRefMismatch(error: unknown): boolean {
  return NOT_AS_EXPECTED.test(stderrOf(error));
}

/**
 * Resolves to the id that a branch's ref names, whether or not that commit exists; null if there is no such ref. Rejects
 * as `unavailable` for a ref that a loss of power has emptied.
 */
export async function branchTip(repository: RefStore, branch: string): Promise<string | null> {
  const [tip = null] = await refTips(repository, [branch]);
  if (tip !== null) return tip;
  const text = await readIfExists(`${repository.commonFolder}/${branch}`);
  if (text !== null && !text.startsWith('ref:')) throw unreadableCommit(branch);
  return null;
}

/** Returns the error for a branch whose commit cannot be read; null stands for HEAD. */
export function unreadableCommit(branch: string | null): HoldfastError {
  const where = branch === null ? 'HEAD' : `the branch "${shortName(branch)}"`;
  return new HoldfastError(
    'unavailable',
    `the commit of ${where} cannot be read: it is missing or damaged; see git fsck`,
  );
}

/** Returns a branch's name as users write it: without `refs/heads/`. */
export function shortName(branch: string): string {
  return branch.replace(/^refs\/(heads|remotes\/origin)\//, '');
}

/** Longest chain of symbolic refs that git follows. */
const MOST_LINKS = 5;

/**
 * Resolves a symbolic ref to the branch that it stands for, and any other name to itself. Someone who renames a branch
 * can keep its old name working (`git symbolic-ref refs/heads/master refs/heads/main`); moving one then moves both.
 */
export async function realBranch(repository: Repository, name: string): Promise<string> {
  let branch = name;
  for (let links = 0; links < MOST_LINKS; links++) {
    const text = await readSmallFile(`${repository.commonFolder}/${branch}`).catch(codeOf);
    // A file in place of the folder of refs means that refs are in tables, which only git can read.
    if (text === 'ENOTDIR') return (await askBranch(repository, commands.symbolic(branch))) ?? branch;
    const [, target] = /^ref:\s*(refs\/heads\/[^ \p{Cc}]+)[ \t\r\n]*$/u.exec(text) ?? [];
    if (target === undefined) return branch;
    branch = target;
  }
  return branch;
}

function codeOf({ code }: NodeJS.ErrnoException): string {
  return code ?? '';
}

/**
 * Resolves to the branch that HEAD names, `refs/heads/...`; null if HEAD is detached or names something else. Reads the
 * file directly, since every pass needs it, and asks git only if the file does not have the answer (refs in tables).
 */
export async function currentBranch(repository: Repository): Promise<string | null> {
  const { gitFolder } = repository;
  const head = await readSmallFile(`${gitFolder}/HEAD`);
  const branch = /^ref: (refs\/heads\/[^\n]+)\n?$/.exec(head)?.[1];
  if (branch !== undefined && branch !== 'refs/heads/.invalid') return realBranch(repository, branch);
  // Older gits made HEAD a link to the branch's file: reading it gives the branch's commit.
  if (/^[0-9a-f]{40,64}\n?$/.test(head) && !(await lstat(`${gitFolder}/HEAD`)).isSymbolicLink()) return null;
  return askBranch(repository, commands.symbolicHead());
}

/** Resolves to the branch that a `symbolic-ref` command prints; null if it prints none. */
async function askBranch({ context }: Repository, command: GitCommand): Promise<string | null> {
  const name = (await askGit(context, command))?.replace(/\n$/, '');
  return name?.startsWith('refs/heads/') ? name : null;
}
