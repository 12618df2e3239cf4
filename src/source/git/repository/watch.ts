import type { Watcher } from '../../source.ts';
import type { Repository } from './repository.ts';
import { REF_TABLES } from './sync-ref.ts';
import { watchFolders, watchNames } from './watch-folders.ts';

/**
 * Watches what moves when the branch does: HEAD, the refs and the packed refs, or the list of ref tables. Folders are
 * watched rather than files, since git replaces a file by renaming another one over it.
 */
export async function watchRepository(
  { gitFolder, commonFolder }: Repository,
  onChange: () => void,
): Promise<Watcher> {
  const closeBranches = await watchFolders(
    `${commonFolder}/refs/heads`,
    (name) => name.endsWith('.lock'),
    onChange,
  );
  // git writes much else in these folders. Of one that is both, nothing is heard twice.
  const closeNames = Array.from(new Set([gitFolder, commonFolder]), (folder) =>
    watchNames(folder, (name) => {
      if (name === null || name === 'HEAD' || name === 'packed-refs') onChange();
    }),
  );
  const closeTables = Array.from(new Set([gitFolder, commonFolder]), (folder) =>
    watchNames(`${folder}/${REF_TABLES}`, (name) => {
      if (name === null || name === 'tables.list') onChange();
    }),
  );
  return {
    close: async () => {
      for (const close of [closeBranches, ...closeNames, ...closeTables]) close();
    },
  };
}
