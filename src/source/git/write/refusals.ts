import { posix } from 'node:path';
import { type ErrorKind, HoldfastError } from '../../../errors.ts';
import { RepositoryConflict } from '../../source.ts';
import { explainFailure } from '../process/disk-trouble.ts';
import { GitFailure, stderrOf } from '../process/run.ts';
import { isRefMismatch } from '../repository/refs.ts';
import { isLocked } from '../work-tree/locks.ts';
import { dirtyFiles } from '../work-tree/work-tree.ts';

/** git's message for an index in the middle of a merge. */
const UNMERGED = /resolve your current index first/;
/** git's messages for uncommitted work in the way. */
const DIRTY = /not uptodate|would be overwritten|would be removed|Cannot merge/;

/** git's messages for a file that has changed while a patch was about to replace it. The patch may have been applied. */
const CHANGED = /does not match (index|the current contents)|does not exist in index/;

/** git's other messages when it cannot switch a checkout to a commit, with our error kind and message for each. */
const REFUSALS: readonly (readonly [RegExp, ErrorKind, string])[] = [
  [
    /invalid path '|File name too long/,
    'conflict',
    'the branch has a path that no work tree can hold; see problems, and commit without it',
  ],
  [
    /index file (corrupt|smaller than expected)|bad index /,
    'unavailable',
    'the index of the checkout is damaged; remove the file .git/index, and run "git reset" there',
  ],
];

/** git's messages for a missing object, or for a missing pack that contained it. */
const MISSING =
  /unable to read (sha1 file|tree)|failed to unpack tree object|missing (blob|tree)|cannot store pack file|unable to write file .*\.pack: No such file/;

/** Whether git failed because it could not find an object. */
export function isObjectMissing(error: unknown): boolean {
  return error instanceof GitFailure && MISSING.test(error.stderr);
}

/** Whether `read-tree` refused to switch, and so has changed nothing. */
export function isRefusal(error: unknown): boolean {
  if (isLocked(error)) return true;
  return error instanceof GitFailure && (UNMERGED.test(error.stderr) || DIRTY.test(error.stderr));
}

export function movedOn(cause?: unknown): HoldfastError {
  return new HoldfastError('moved-on', 'the branch has moved in the meantime', {}, cause);
}

/** Returns the error for a failed write. `paths` are those of its drafts, below `prefix`. */
export function publishError(error: unknown, paths: string[], prefix: string): HoldfastError {
  if (error instanceof HoldfastError) return error;
  const text = stderrOf(error);
  if (isRefMismatch(error)) return movedOn(error);
  const named = namedPaths(text, paths, prefix);
  if (DIRTY.test(text) || CHANGED.test(text)) return dirtyFiles(named.length > 0 ? named : paths, error);
  if (UNMERGED.test(text)) {
    const message =
      'the index of the checkout has conflicts (of a merge, cherry-pick, revert or stash); resolve and stage them, or abort what left them';
    return new RepositoryConflict(message, error);
  }
  const refusal = REFUSALS.find(([pattern]) => pattern.test(text));
  if (refusal !== undefined) return new HoldfastError(refusal[1], refusal[2], {}, error);
  if (isLocked(error)) {
    const message =
      'another git process has locked the repository, as "git commit --all" does while its editor is open; end it, or remove the lock that it left';
    return new RepositoryConflict(message, error);
  }
  const what = named.length > 0 ? `write ${named.join(', ')} in the checkout` : 'publish the commit';
  const message = explainFailure(`git could not ${what}`, error);
  return new HoldfastError('unavailable', message, {}, error);
}

/** Returns the paths that a message of git names, by themselves or by a file or folder in their way. */
function namedPaths(stderr: string, paths: readonly string[], prefix: string): string[] {
  const quoted = Array.from(stderr.matchAll(/'([^'\n]+)'/g), ([, name = '']) => name);
  return paths.filter((path) => {
    const full = posix.join(prefix, path);
    return quoted.some((name) => full === name || full.startsWith(`${name}/`));
  });
}
