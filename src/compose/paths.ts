import { posix } from 'node:path';

/** Returns a path as Compose reads it: `~` is the home folder, and a relative path begins in the folder of the file. */
export function resolvePath(
  path: string,
  { folder, home }: { folder: string; home: string | undefined },
): string {
  const isInHome = home !== undefined && /^~(?=\/|$)/.test(path);
  return posix.resolve(folder, isInHome ? home + path.slice(1) : path);
}
