import { createReadStream } from 'node:fs';
import { lstat } from 'node:fs/promises';
import { HoldfastError } from '../../../errors.ts';
import { GitFailure } from '../process/run.ts';

/** What kept the manager from reading a file, and what to do. */
const TROUBLES: Readonly<Record<string, string>> = {
  EACCES: 'the user of the manager may not read it (EACCES); check owner and permissions',
  EPERM: 'the user of the manager may not read it (EPERM); check owner and permissions',
  EIO: 'the disk reports errors (EIO); check the system log',
};

/** git's refusal over a file that it could not read: it says the same of that as of one that was changed. */
export class UnreadableFile extends GitFailure {
  /** A code of the operating system. */
  readonly code: string;

  constructor(failure: GitFailure, code: string) {
    super({ args: ['read-tree'] }, failure.exitCode, failure.stderr);
    this.code = code;
    this.cause = failure;
  }
}

/**
 * The same refusal; as an UnreadableFile where one of the files that it names cannot be read. `top` is that of the work
 * tree.
 */
export async function judgeRefusal(failure: GitFailure, top: string): Promise<GitFailure> {
  for (const [, name = ''] of failure.stderr.matchAll(/'([^'\n]+)'/g)) {
    const code = await troubleWith(`${top}/${name}`);
    if (code !== null) return new UnreadableFile(failure, code);
  }
  return failure;
}

/** The refusal of a write to a file that cannot be read. */
export function unreadable(paths: readonly string[], cause: UnreadableFile): HoldfastError {
  const trouble = TROUBLES[cause.code] ?? `reading it fails (${cause.code})`;
  const message = `${paths.join(', ')}: the checkout's file cannot be read: ${trouble}`;
  return new HoldfastError('unavailable', message, { paths }, cause);
}

/** Why a file cannot be read to its end; null where it can, or where there is none. */
async function troubleWith(path: string): Promise<string | null> {
  try {
    if (!(await lstat(path)).isFile()) return null;
    for await (const _piece of createReadStream(path));
    return null;
  } catch (error) {
    const { code = 'unknown' } = error as NodeJS.ErrnoException;
    return code === 'ENOENT' || code === 'ENOTDIR' ? null : code;
  }
}
