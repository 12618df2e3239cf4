import { descriptorAdvice, HoldfastError } from '../../../errors.ts';
import { RepositoryConflict } from '../../source.ts';
import { diskTrouble, lineOf } from '../process/disk-trouble.ts';
import { GitFailure, stderrOf } from '../process/run.ts';

/** git's messages for uncommitted work in the way. */
const DIRTY = /not uptodate|would be overwritten|would be removed|Cannot merge/;

/** Why the git at the other end refused a push, and what it printed about that. */
const REASON = /^!\t[^\t]*\t\[remote rejected\] \((.*)\)$/m;
/** What git at the other end says if it could not store what it was sent. */
const UNPACKER = 'unpacker error';
const PRINTED = /^(?:error|fatal): (?!failed to push )(.*\S)\s*$/gm;

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

/** Returns the error for a write to files with uncommitted work; for git, a file that it cannot read has some. */
export function dirtyFiles(paths: readonly string[], cause?: unknown): HoldfastError {
  const message = `${paths.join(', ')}: the checkout has uncommitted work on this file; commit or undo it first`;
  return new HoldfastError('conflict', message, { paths }, cause);
}

/** Returns the error for a failed write. `paths` are those of its drafts, inside the repository. */
export function publishError(error: unknown, paths: string[]): HoldfastError {
  if (error instanceof HoldfastError) return error;
  const text = stderrOf(error);
  const named = namedPaths(text, paths);
  if (DIRTY.test(text)) return dirtyFiles(named.length > 0 ? named : paths, error);
  if (isLocked(error)) {
    const message =
      'another git process has locked the repository, as "git commit --all" does while its editor is open; end it, or remove the lock that it left';
    return new RepositoryConflict(message, error);
  }
  return otherFailure(error, named);
}

function otherFailure(error: unknown, named: readonly string[]): HoldfastError {
  const what = named.length > 0 ? `write ${named.join(', ')} in the checkout` : 'publish the commit';
  const sentence = `git could not ${what}`;
  const trouble = descriptorAdvice(stderrOf(error)) ?? diskTrouble(error);
  const isGit = error instanceof GitFailure;
  const reason = trouble ?? (isGit ? reasonOf(error) : '');
  const message = reason === '' ? sentence : `${sentence}: ${reason}`;
  const [, why = UNPACKER] = (isGit && REASON.exec(error.stderr)) || [];
  if (trouble === null && why !== UNPACKER) return new RepositoryConflict(message, error);
  return new HoldfastError('unavailable', message, {}, error);
}

/** Returns why git refused a push, in its own words. */
function reasonOf(failure: GitFailure): string {
  const [, reason = ''] = REASON.exec(failure.stderr) ?? [];
  const printed = [...failure.stderr.matchAll(PRINTED)].map(([, line]) => line).join(' ');
  return (printed || reason || lineOf(failure)).slice(0, 300);
}

/** Returns the paths that a message of git names, by themselves or by a file or folder in their way. */
function namedPaths(stderr: string, paths: readonly string[]): string[] {
  const quoted = Array.from(stderr.matchAll(/'([^'\n]+)'/g), ([, name = '']) => name);
  return paths.filter((path) => quoted.some((name) => path === name || path.startsWith(`${name}/`)));
}
