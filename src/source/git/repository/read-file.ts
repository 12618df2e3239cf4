import { readSmallFile } from '../../../disk/read.ts';

/** The text of a file of git's; null where there is none. Rejects for one that cannot be read: to git that is none, too. */
export async function readIfThere(path: string): Promise<string | null> {
  try {
    return await readSmallFile(path);
  } catch (error) {
    if (['ENOENT', 'ENOTDIR', 'EISDIR'].includes((error as NodeJS.ErrnoException).code ?? '')) return null;
    throw error;
  }
}
