import { readFile } from 'node:fs/promises';

/** The text of a file of git's; null where there is none. Rejects for one that cannot be read: to git that is none, too. */
export async function readIfThere(path: string): Promise<string | null> {
  try {
    return await readFile(path, 'utf8');
  } catch (error) {
    if (['ENOENT', 'ENOTDIR', 'EISDIR'].includes((error as NodeJS.ErrnoException).code ?? '')) return null;
    throw error;
  }
}
