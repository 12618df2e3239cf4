import { statfs } from 'node:fs/promises';

/** How full the file system is on which an engine keeps its data. */
export interface DiskUsage {
  /** Bytes. */
  total: number;
  /** Bytes that are left for users without special rights. */
  free: number;
  /** Share of those that users may use which is used, from 0 to 1, as `df` shows it. */
  used: number;
  /** Share of all inodes that is free, from 0 to 1; 1 on file systems that do not count them. */
  freeInodes: number;
}

/**
 * Resolves to the usage of the file system that has the engine's folder. Where that path does not exist, as in the
 * worker's own container, it is that of `/`: a container's root is on the same one.
 */
export async function diskUsage(root: string): Promise<DiskUsage> {
  const { bsize, blocks, bfree, bavail, files, ffree } = await statfs(root).catch((error) => {
    if (!['ENOENT', 'ENOTDIR', 'EACCES'].includes((error as NodeJS.ErrnoException).code ?? '')) throw error;
    return statfs('/');
  });
  const taken = blocks - bfree;
  return {
    total: blocks * bsize,
    free: bavail * bsize,
    used: taken + bavail === 0 ? 0 : taken / (taken + bavail),
    freeInodes: files === 0 ? 1 : ffree / files,
  };
}
