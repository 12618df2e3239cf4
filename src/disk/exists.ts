import { access, constants, lstat } from 'node:fs/promises';

/** Whether anything exists at a path, even a broken symbolic link. */
export function exists(path: string): Promise<boolean> {
  return succeeds(lstat(path));
}

/** Whether a file exists that this process may read. */
export function mayRead(path: string): Promise<boolean> {
  return succeeds(access(path, constants.R_OK));
}

function succeeds(work: Promise<unknown>): Promise<boolean> {
  return work.then(
    () => true,
    () => false,
  );
}
