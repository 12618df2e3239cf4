import { HoldfastError } from '../../../errors.ts';
import type { Head, Reader } from '../../source.ts';
import { commands } from '../process/commands.ts';
import { runGit } from '../process/run.ts';
import { guarded } from '../read/guarded.ts';
import { shortName } from './refs.ts';
import type { Repository } from './repository.ts';

/** Most branches that the error for a missing one names. */
const MOST_NAMES = 5;
/** How often a branch is looked for that is among the branches, but not found. */
const MOST_LOOKS = 3;

/**
 * A reader that follows the branch of GIT_BRANCH. Its look at the head rejects as `unavailable` where that branch is
 * not there and others are: a name with a mistake in it, or a branch that was deleted, is no fleet of nothing. In a
 * repository without any branch the first write makes it.
 */
export function requireBranch(reader: Reader, { context }: Repository, branch: string): Reader {
  const look = async (looksLeft: number): Promise<Head> => {
    const found = await reader.head();
    if (found.revision !== null) return found;
    const names = await guarded(() => runGit(context, commands.branches()));
    const others = names.split('\n').filter(Boolean);
    // It came between the two looks, and can have gone again.
    if (others.includes(branch) && looksLeft > 1) return look(looksLeft - 1);
    if (others.length > 0) throw noSuchBranch('the repository', branch, others);
    return found;
  };
  return { ...reader, head: () => look(MOST_LOOKS) };
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
    `${where} has no branch "${shortName(branch)}"${wasThere ? ' any more' : ''}; check GIT_BRANCH, or create the branch${there}`,
  );
}
