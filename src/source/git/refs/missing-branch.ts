import { HoldfastError } from '../../../errors.ts';
import type { Head, Reader } from '../../source.ts';
import { commands } from '../process/commands.ts';
import { asUnavailable } from '../process/guarded.ts';
import { runGit } from '../process/run.ts';
import type { Repository } from '../repository/repository.ts';
import { shortName } from './tips.ts';

/** Most branches that the error for a missing branch names. */
const MOST_NAMES = 5;
/** How often the head is read while the branch is listed but not found. */
const MOST_READS = 3;

/**
 * Returns a reader that follows the branch of GIT_BRANCH. Its `head` rejects as `unavailable` if that branch is missing
 * while others exist: a misspelt name or a deleted branch must not pass for an empty fleet. In a repository without any
 * branch, the first write makes it.
 */
export function requireBranch(reader: Reader, { context }: Repository, branch: string): Reader {
  const readHead = async (readsLeft: number): Promise<Head> => {
    const found = await reader.head();
    if (found.revision !== null) return found;
    const names = await asUnavailable(() => runGit(context, commands.branches()));
    const existing = names.split('\n').filter(Boolean);
    // The branch was made after its head was read, and can be deleted again before the next read.
    if (existing.includes(branch) && readsLeft > 1) return readHead(readsLeft - 1);
    if (existing.length > 0) throw noSuchBranch('the repository', branch, existing);
    return found;
  };
  return { ...reader, head: () => readHead(MOST_READS) };
}

/**
 * Returns the error for a branch that does not exist. `branch` and `existing` are full names; `existing` can include the
 * branch if it was made again in the meantime. `wasThere` says that the branch existed before.
 */
export function noSuchBranch(
  where: string,
  branch: string,
  existing: readonly string[],
  wasThere = false,
): HoldfastError {
  const others = existing.filter((name) => name !== branch);
  const names = others.map(shortName).slice(0, MOST_NAMES).join(', ');
  const more = others.length > MOST_NAMES ? ', …' : '';
  const there = others.length > 0 ? ` (there are: ${names}${more})` : '';
  return new HoldfastError(
    'unavailable',
    `${where} has no branch "${shortName(branch)}"${wasThere ? ' any more' : ''}; check GIT_BRANCH, or create the branch${there}`,
  );
}
