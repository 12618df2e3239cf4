import { readdir } from 'node:fs/promises';
import { dirname } from 'node:path';
import { syncFiles, syncFoldersUpTo } from '../../../disk/sync.ts';
import { isThere } from '../../../disk/there.ts';
import type { Repository } from './repository.ts';

/**
 * Makes a move of a ref outlive a loss of power, whatever a person's git, which need not sync, has made of it
 * meanwhile.
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
    // Each move makes a table, and any git may join the last ones. There are few.
    await syncFiles(
      commonFolder,
      tables.map((name) => `${REF_TABLES}/${name}`),
    );
    return;
  }
  await syncFoldersUpTo(`${commonFolder}/refs`, `${commonFolder}/${dirname(ref)}`);
  if (!(await isThere(`${commonFolder}/${ref}`))) await syncFiles(commonFolder, ['packed-refs']);
}

/**
 * Where a repository has its refs that keeps them in tables (`git init --ref-format=reftable`); others have no such
 * folder.
 */
export const REF_TABLES = 'reftable';
