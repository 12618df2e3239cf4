import { open, rename, rm } from 'node:fs/promises';
import { dirname } from 'node:path';
import { syncFolder } from './sync.ts';

/**
 * Replaces a file, which only its owner may read, so that it has the old text or the new one after a loss of power, and
 * never a part of it. Rejects if it cannot be written; then the old text stays.
 */
export async function replaceFile(path: string, text: string): Promise<void> {
  const fresh = `${path}.new`;
  try {
    // Never one that another user of the machine may have put there.
    await rm(fresh, { force: true });
    const file = await open(fresh, 'wx', 0o600);
    try {
      await file.writeFile(text);
      await file.sync();
    } finally {
      await file.close();
    }
    await rename(fresh, path);
  } catch (error) {
    await rm(fresh, { force: true }).catch(() => undefined);
    throw error;
  }
  await syncFolder(dirname(path));
}
