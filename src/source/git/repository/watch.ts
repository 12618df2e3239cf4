import type { Watcher } from '../../source.ts';
import type { Repository } from './repository.ts';
import { watchFolders, watchNames } from './watch-folders.ts';

/**
 * Watches what moves when the branch does: HEAD, the refs and the packed refs. Folders are watched rather than
 * files, since git replaces a file by renaming another one over it.
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
  return {
    close: async () => {
      closeBranches();
      for (const close of closeNames) close();
    },
  };
}
