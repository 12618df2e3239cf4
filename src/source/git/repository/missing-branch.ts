import { HoldfastError } from '../../../errors.ts';
import type { Head, Reader } from '../../source.ts';
import { commands } from '../process/commands.ts';
import { runGit, saidNo } from '../process/run.ts';
import { guarded } from '../read/guarded.ts';
import { readIfThere } from './read-file.ts';
import type { Repository } from './repository.ts';

/** So many branches are named to who looks for another one. */
const MOST_NAMES = 5;

/**
 * A reader that follows the branch of GIT_BRANCH. Its look at the head rejects as `unavailable` where that branch is
 * not there and others are: a name with a mistake in it, or a branch that was deleted, is no fleet of nothing. In a
 * repository without any branch the first write makes it.
 */
export function requireBranch(reader: Reader, { context }: Repository, branch: string): Reader {
  const head = async (): Promise<Head> => {
    const found = await reader.head();
    if (found.revision !== null) return found;
    const names = await guarded(() => runGit(context, commands.branches()));
    const others = names.split('\n').filter(Boolean);
    // It came between the two looks, and can have gone again.
    if (others.includes(branch)) return head();
    if (others.length > 0) throw noSuchBranch('the repository', branch, others);
    return found;
  };
  return { ...reader, head };
}

/**
 * A reader that tells a branch without a commit from one whose commit cannot be read: its objects are damaged, or in
 * another repository whose disk is away. That is no fleet of nothing either: its look at the head rejects as
 * `unavailable`.
 */
export function requireReadable(reader: Reader, repository: Repository): Reader {
  const head = async (): Promise<Head> => {
    const found = await reader.head();
    if (found.revision !== null || !(await guarded(() => isNamed(repository, found.branch)))) return found;
    // The first commit may have come between the two looks, or a disk is back that a living git does not look for again.
    await reader.close();
    const again = await reader.head();
    if (again.revision !== null) return again;
    throw unreadable(found.branch);
  };
  return { ...reader, head };
}

/** The error of a branch whose commit cannot be read; of `HEAD` for null. */
export function unreadable(branch: string | null): HoldfastError {
  const where = branch === null ? 'HEAD' : `the branch "${shortName(branch)}"`;
  return new HoldfastError(
    'unavailable',
    `the commit of ${where} cannot be read: it is missing or damaged; see git fsck`,
  );
}

/** Whether a ref stands for something, readable or not; HEAD without a branch always does. */
export async function isNamed(
  { context, commonFolder }: Repository,
  branch: string | null,
): Promise<boolean> {
  if (branch === null) return true;
  try {
    await runGit(context, commands.named(branch));
    return true;
  } catch (error) {
    if (!saidNo(error)) throw error;
  }
  // What a loss of power has emptied is no ref for git. One that names another branch is as good as that.
  const text = await readIfThere(`${commonFolder}/${branch}`);
  return text !== null && !text.startsWith('ref:');
}

/**
 * `branch` and `found` are full names; the branch can be among them, where it has come back meanwhile. `wasThere`: the
 * branch was seen before.
 */
export function noSuchBranch(
  where: string,
  branch: string,
  found: readonly string[],
  wasThere = false,
): HoldfastError {
  const others = found.filter((one) => one !== branch);
  const names = others.map(shortName).slice(0, MOST_NAMES).join(', ');
  const more = others.length > MOST_NAMES ? ', …' : '';
  const there = others.length > 0 ? ` (there are: ${names}${more})` : '';
  return new HoldfastError(
    'unavailable',
    `${where} has no branch "${shortName(branch)}"${wasThere ? ' any more' : ''}; look at GIT_BRANCH, or make the branch${there}`,
  );
}

/** A branch as people name it: without `refs/heads/`. */
export function shortName(branch: string): string {
  return branch.replace(/^refs\/heads\//, '');
}
