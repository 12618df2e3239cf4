import { createReadStream } from 'node:fs';
import { lstat } from 'node:fs/promises';
import { HoldfastError } from '../../../errors.ts';
import { GitFailure } from '../process/run.ts';

/** Why the manager could not read a file, and what to do about it. */
const TROUBLES: Readonly<Record<string, string>> = {
  EACCES: 'the user of the manager may not read it (EACCES); check owner and permissions',
  EPERM: 'the user of the manager may not read it (EPERM); check owner and permissions',
  EIO: 'the disk reports errors (EIO); check the system log',
};

/** git's refusal to switch because of a file that it could not read, which it reports in the same words as a changed file. */
export class UnreadableFile extends GitFailure {
  /** Error code of the operating system. */
  readonly code: string;

  constructor(failure: GitFailure, code: string) {
    super({ args: ['read-tree'] }, failure.exitCode, failure.stderr);
    this.code = code;
    this.cause = failure;
  }
}

/**
 * Resolves to the same refusal, as an UnreadableFile if one of the files that it names cannot be read. `top` is the top
 * of the work tree.
 */
export async function explainRefusal(failure: GitFailure, top: string): Promise<GitFailure> {
  for (const [, name = ''] of failure.stderr.matchAll(/'([^'\n]+)'/g)) {
    const code = await readErrorOf(`${top}/${name}`);
    if (code !== null) return new UnreadableFile(failure, code);
  }
  return failure;
}

/** Returns the error for a write to files of the checkout that cannot be read. */
export function unreadableFiles(paths: readonly string[], cause: UnreadableFile): HoldfastError {
  const trouble = TROUBLES[cause.code] ?? `reading it fails (${cause.code})`;
  const message = `${paths.join(', ')}: the checkout's file cannot be read: ${trouble}`;
  return new HoldfastError('unavailable', message, { paths }, cause);
}

/** Resolves to the error code of reading a file to its end; null if that succeeds or there is no file. */
async function readErrorOf(path: string): Promise<string | null> {
  try {
    if (!(await lstat(path)).isFile()) return null;
    for await (const _piece of createReadStream(path));
    return null;
  } catch (error) {
    const { code = 'unknown' } = error as NodeJS.ErrnoException;
    return code === 'ENOENT' || code === 'ENOTDIR' ? null : code;
  }
}
