import { statfs } from 'node:fs/promises';

/** What is about to be written to a file system. */
export interface SpaceNeed {
  bytes: number;
  files: number;
}

/**
 * Resolves to whether the file system of a folder has room. True if it does not report its space, or by files, as some do
 * not. What is reserved for root counts for root alone. Quotas do not show.
 */
export async function hasSpace(folder: string, { bytes, files }: SpaceNeed): Promise<boolean> {
  const found = await statfs(folder).catch(() => null);
  if (found === null || found.blocks === 0) return true;
  const free = process.getuid?.() === 0 ? found.bfree : found.bavail;
  return free * found.bsize >= bytes && (found.files === 0 || found.ffree >= files);
}
