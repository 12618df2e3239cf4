import { readdir } from 'node:fs/promises';
import { dirname } from 'node:path';
import { exists } from '../../../disk/exists.ts';
import { syncFiles, syncFoldersUpTo } from '../../../disk/sync.ts';
import type { Repository } from '../repository/repository.ts';

/**
 * Makes a moved ref survive a loss of power, even if a user's git, which need not sync, has packed or rewritten it in the
 * meantime.
 */
export async function syncRef(
  { commonFolder }: Pick<Repository, 'commonFolder'>,
  ref: string,
): Promise<void> {
  const tables = await readdir(`${commonFolder}/${REF_TABLES}`).catch((error: NodeJS.ErrnoException) => {
    if (error.code === 'ENOENT') return null;
    throw error;
  });
  if (tables !== null) {
    // Each move adds a table, and any git may merge recent ones. All are synced; there are few.
    await syncFiles(
      commonFolder,
      tables.map((name) => `${REF_TABLES}/${name}`),
    );
    return;
  }
  await syncFoldersUpTo(`${commonFolder}/refs`, `${commonFolder}/${dirname(ref)}`);
  if (!(await exists(`${commonFolder}/${ref}`))) await syncFiles(commonFolder, ['packed-refs']);
}

/**
 * Folder of the refs in a repository that keeps them in tables (`git init --ref-format=reftable`). Other repositories do
 * not have it.
 */
export const REF_TABLES = 'reftable';
