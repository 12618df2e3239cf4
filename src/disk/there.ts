import { access, constants, lstat } from 'node:fs/promises';

/** Whether there is anything at a path, a link among them. */
export function isThere(path: string): Promise<boolean> {
  return succeeds(lstat(path));
}

/** Whether there is a file that this process may read. */
export function mayRead(path: string): Promise<boolean> {
  return succeeds(access(path, constants.R_OK));
}

function succeeds(work: Promise<unknown>): Promise<boolean> {
  return work.then(
    () => true,
    () => false,
  );
}

/** For `catch`: what is not there need not be removed, renamed or emptied. */
export function ignoreMissing(error: NodeJS.ErrnoException): void {
  if (error.code !== 'ENOENT') throw error;
}
