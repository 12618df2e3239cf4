import { HoldfastError } from '../../errors.ts';
import type { Head, Reader } from '../source.ts';
import { commands } from './commands.ts';
import type { Repository } from './repository.ts';
import { runGit } from './run.ts';

/** So many branches are named to who looks for another one. */
const MOST_NAMES = 5;

/**
 * A reader that follows the branch of GIT_BRANCH. Its look at the head rejects as `unavailable` where that branch is not
 * there and others are: a name with a mistake in it, or a branch that was deleted, is no fleet of nothing. In a repository
 * without any branch the first write makes it.
 */
export function requireBranch(reader: Reader, { context }: Repository, branch: string): Reader {
  const head = async (): Promise<Head> => {
    const found = await reader.head();
    if (found.revision !== null) return found;
    const others = (await runGit(context, commands.branches())).split('\n').filter(Boolean);
    if (others.length > 0) throw noSuchBranch('the repository', branch, others);
    return found;
  };
  return { ...reader, head };
}

/** `branch` and `others` are full names. */
export function noSuchBranch(where: string, branch: string, others: readonly string[]): HoldfastError {
  const names = others.map(shortName).slice(0, MOST_NAMES).join(', ');
  const more = others.length > MOST_NAMES ? ', …' : '';
  return new HoldfastError(
    'unavailable',
    `${where} has no branch "${shortName(branch)}"; look at GIT_BRANCH, or make the branch (there are: ${names}${more})`,
  );
}

function shortName(branch: string): string {
  return branch.replace(/^refs\/heads\//, '');
}
