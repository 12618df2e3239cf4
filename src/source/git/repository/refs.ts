import { lstat, readFile } from 'node:fs/promises';
import { readIfThere, readSmallFile } from '../../../disk/read.ts';
import { HoldfastError } from '../../../errors.ts';
import { commands, type GitCommand, objectId } from '../process/commands.ts';
import { askGit, runGit, saidBy } from '../process/run.ts';
import type { Repository } from './repository.ts';

/** What refs name, of whatever type; null for each that is not there. */
export async function readTips({ context }: Repository, refs: readonly string[]): Promise<(string | null)[]> {
  const lines = (await runGit(context, commands.refTip(...refs))).split('\n');
  return refs.map((ref) => {
    const line = lines.find((one) => one.endsWith(` ${ref}`));
    return line === undefined ? null : objectId(line.slice(0, line.indexOf(' ')));
  });
}

/** A ref that is broken cannot be resolved either, but git says so behind its name. */
const ELSEWHERE =
  /cannot lock ref .*: (is at|reference already exists|reference is missing|unable to resolve reference '[^']*'$)/m;

/** Whether git did not move a ref because it is not where it was expected to be. */
export function isRefElsewhere(error: unknown): boolean {
  return ELSEWHERE.test(saidBy(error));
}

/**
 * The id that a branch's ref names, whether there is such a commit or not; null where there is no such ref. Rejects as
 * `unavailable` for a ref that a loss of power has emptied.
 *
 * This is the ref of that very name. Where it does not exist, `rev-parse` and `cat-file` would take another one whose
 * name ends with it, like `refs/heads/refs/heads/main`.
 */
export async function tipOf(repository: Repository, branch: string): Promise<string | null> {
  const text = await readIfThere(`${repository.commonFolder}/${branch}`);
  const [, id] = /^([0-9a-f]{40}|[0-9a-f]{64})\s/.exec(text ?? '') ?? [];
  if (id !== undefined) return id;
  const packed = text === null ? await packedTip(repository, branch) : null;
  if (packed !== null) return packed;
  // It is in a table, a symbolic ref, or not there.
  const [tip = null] = await readTips(repository, [branch]);
  if (tip === null && text !== null && !text.startsWith('ref:')) throw unreadable(branch);
  return tip;
}

/**
 * What `packed-refs` has for a branch that has no file of its own: a clone keeps its branches there until they move. Null
 * where it has nothing, or cannot be read; git then says why. A name that is not UTF-8 is left to git, too.
 */
async function packedTip({ commonFolder }: Repository, branch: string): Promise<string | null> {
  const packed = await readFile(`${commonFolder}/packed-refs`).catch(() => Buffer.alloc(0));
  const end = packed.indexOf(` ${branch}\n`);
  if (end < 0) return null;
  const id = packed.toString('latin1', packed.lastIndexOf('\n', end) + 1, end);
  return /^([0-9a-f]{40}|[0-9a-f]{64})$/.test(id) ? id : null;
}

/** The error of a branch whose commit cannot be read; of `HEAD` for null. */
export function unreadable(branch: string | null): HoldfastError {
  const where = branch === null ? 'HEAD' : `the branch "${shortName(branch)}"`;
  return new HoldfastError(
    'unavailable',
    `the commit of ${where} cannot be read: it is missing or damaged; see git fsck`,
  );
}

/** A branch as people name it: without `refs/heads/`. */
export function shortName(branch: string): string {
  return branch.replace(/^refs\/(heads|remotes\/origin)\//, '');
}

/** git follows no longer chain of symbolic refs. */
const MOST_LINKS = 5;

/**
 * The branch itself, where the name is a symbolic ref: people who rename a branch can keep the old name for those who
 * have it set (`git symbolic-ref refs/heads/master refs/heads/main`), and what moves one moves both.
 */
export async function realBranch(repository: Repository, name: string): Promise<string> {
  let branch = name;
  for (let links = 0; links < MOST_LINKS; links++) {
    const text = await readSmallFile(`${repository.commonFolder}/${branch}`).catch(codeOf);
    // A file in the place of a folder of refs says that they are in tables, which git alone reads.
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
 * The branch that HEAD names, `refs/heads/...`; null when it is detached, or names something else. The file is read
 * directly, since it is looked at in every pass; where it does not say (a ref table), git is asked.
 */
export async function currentBranch(repository: Repository): Promise<string | null> {
  const { gitFolder } = repository;
  const head = await readSmallFile(`${gitFolder}/HEAD`);
  const branch = /^ref: (refs\/heads\/[^\n]+)\n?$/.exec(head)?.[1];
  if (branch !== undefined && branch !== 'refs/heads/.invalid') return realBranch(repository, branch);
  // A link to the branch's file, as an older git made it, holds the branch's commit.
  if (/^[0-9a-f]{40,64}\n?$/.test(head) && !(await lstat(`${gitFolder}/HEAD`)).isSymbolicLink()) return null;
  return askBranch(repository, commands.symbolicHead());
}

/** The branch that a `symbolic-ref` tells; null where it tells none. */
async function askBranch({ context }: Repository, command: GitCommand): Promise<string | null> {
  const name = (await askGit(context, command))?.replace(/\n$/, '');
  return name?.startsWith('refs/heads/') ? name : null;
}
