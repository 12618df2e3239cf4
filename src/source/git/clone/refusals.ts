import { type ErrorKind, HoldfastError } from '../../../errors.ts';
import { RepositoryConflict } from '../../source.ts';
import { explainFailure } from '../process/disk-trouble.ts';
import { GitFailure, stderrOf } from '../process/run.ts';
import { UnreadableFile, unreadableFiles } from './unreadable.ts';

/** git's message for an index in the middle of a merge. */
const UNMERGED = /resolve your current index first/;
/** git's messages for uncommitted work in the way. */
const DIRTY = /not uptodate|would be overwritten|would be removed|Cannot merge/;

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
  [
    /fail to run proc-receive hook/,
    'conflict',
    'the setting receive.procReceiveRefs of the clone hands the branch to a hook, and hooks do not run here; unset it (git config --unset-all receive.procReceiveRefs)',
  ],
];

/** git's message for a branch `a/b` that cannot be made because a branch `a` or `a/b/c` exists. */
const NAME_CONFLICT = /'refs\/heads\/([^']*)' exists; cannot create 'refs\/heads\/([^']*)'/;

/** Why the git at the other end refused a push, and what it printed about that. */
const REASON = /^!\t[^\t]*\t\[remote rejected\] \((.*)\)$/m;
const PRINTED = /^error: (?!failed to push )(.*\S)\s*$/gm;

/** git's messages for a missing object, or for a missing pack that contained it. */
const MISSING =
  /unable to read (sha1 file|tree|[0-9a-f]{40})|failed to unpack tree object|missing (blob|tree)|bad object|cannot store pack file|unable to write file .*\.pack: No such file/;

/** Whether git failed because it could not find an object. */
export function isObjectMissing(error: unknown): boolean {
  return error instanceof GitFailure && MISSING.test(error.stderr);
}

/** git's messages for a locked index, and for a locked ref in files and in tables. git has then moved nothing. */
const LOCKED =
  /Unable to create '.*\.lock': File exists|cannot lock references|transaction prepare: data (is locked|concurrently modified)/;

/** Whether git failed because another git process holds a lock of the repository, or left it behind. */
export function isLocked(error: unknown): boolean {
  return error instanceof GitFailure && LOCKED.test(error.stderr);
}

/** Printed by `push --porcelain` if our hook has refused the push, and so has changed nothing. */
const REFUSED_BY_HOOK = /\(push-to-checkout hook declined\)$/m;

/** Whether a push was refused because index and work tree could not be moved. */
export function isHookRefusal(error: unknown): boolean {
  return error instanceof GitFailure && REFUSED_BY_HOOK.test(error.stderr);
}

/**
 * Returns git's failure behind an error of a push into the clone, without the mark of lines from the other end, which is
 * this machine, too; null if git is not behind it.
 */
export function failureOfPush(error: unknown): GitFailure | null {
  const { cause } = error as { cause?: unknown };
  if (!(cause instanceof GitFailure)) return null;
  return new GitFailure({ args: ['push'] }, cause.exitCode, cause.stderr.replaceAll(/^remote: /gm, ''));
}

export function movedOn(cause?: unknown): HoldfastError {
  return new HoldfastError('moved-on', 'the branch has moved in the meantime', {}, cause);
}

/** Returns the error for a write to files with uncommitted work, or that cannot be read. */
export function dirtyFiles(paths: readonly string[], cause?: unknown): HoldfastError {
  if (cause instanceof UnreadableFile) return unreadableFiles(paths, cause);
  const message = `${paths.join(', ')}: the checkout has uncommitted work on this file; commit or undo it first`;
  return new HoldfastError('conflict', message, { paths }, cause);
}

/** Returns the error for a failed write. `paths` are those of its drafts, inside the repository. */
export function publishError(error: unknown, paths: string[]): HoldfastError {
  if (error instanceof HoldfastError) return error;
  const text = stderrOf(error);
  const named = namedPaths(text, paths);
  if (DIRTY.test(text)) return dirtyFiles(named.length > 0 ? named : paths, error);
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
  const [, inTheWay, wanted] = NAME_CONFLICT.exec(text) ?? [];
  if (inTheWay !== undefined) {
    const message = `git cannot have branch ${wanted} beside branch ${inTheWay}; rename or delete one of them`;
    return new HoldfastError('conflict', message, {}, error);
  }
  return otherFailure(error, named);
}

function otherFailure(error: unknown, named: readonly string[]): HoldfastError {
  const what = named.length > 0 ? `write ${named.join(', ')} in the checkout` : 'publish the commit';
  const sentence = `git could not ${what}`;
  const explained = explainFailure(sentence, error);
  const message = explained === sentence ? [sentence, ...reasonsOf(stderrOf(error))].join(': ') : explained;
  return new HoldfastError('unavailable', message, {}, error);
}

/** Returns why git refused a push, in its own words; nothing if it does not say. */
function reasonsOf(stderr: string): string[] {
  const [, reason] = REASON.exec(stderr) ?? [];
  const printed = [...stderr.matchAll(PRINTED)].map(([, line]) => line).join(' ');
  return [reason ?? '', printed].filter((text) => text !== '').map((text) => text.slice(0, 300));
}

/** Returns the paths that a message of git names, by themselves or by a file or folder in their way. */
function namedPaths(stderr: string, paths: readonly string[]): string[] {
  const quoted = Array.from(stderr.matchAll(/'([^'\n]+)'/g), ([, name = '']) => name);
  return paths.filter((path) => quoted.some((name) => path === name || path.startsWith(`${name}/`)));
}
