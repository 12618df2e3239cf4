import type { Watcher } from '../../source.ts';
import { REF_TABLES } from '../refs/sync.ts';
import type { Repository } from '../repository/repository.ts';
import { watchFolders, watchNames } from './folders.ts';

/**
 * Watches what changes when the branch moves: HEAD, the refs and the packed refs, or the list of ref tables. Watches
 * folders rather than files, since git replaces a file by renaming a new one over it.
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
  // git writes many other files here. The two folders can be one, which is then watched once.
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
