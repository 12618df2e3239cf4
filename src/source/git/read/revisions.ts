import type { BlobContent, TreeEntry } from '../../../desired/entry.ts';
import { commands } from '../process/commands.ts';
import { runGit } from '../process/run.ts';
import { findRepository, isShallow, type Machine } from '../repository/repository.ts';
import { findFolder } from './folder-tree.ts';
import { openObjects } from './objects.ts';
import { parseTreeList } from './tree.ts';

/** The folder at any revision that somebody names, for commands. */
export interface RevisionReader {
  /** Entries of the folder at `HEAD`, `origin/main`, `v1.2~3` and the like; null where that is no commit. */
  entriesAt(revision: string): Promise<TreeEntry[] | null>;
  blob(id: string, maxBytes: number): Promise<BlobContent>;
  /** Whether the clone has only a part of the history. */
  isShallow: boolean;
  close(): Promise<void>;
}

/** Opens the repository that a folder lies in; null where it lies in none. */
export async function openRevisions(folder: string, machine: Machine): Promise<RevisionReader | null> {
  const repository = await findRepository(folder, machine);
  if (repository === null) return null;
  const { context } = repository;
  const objects = openObjects(context);
  return {
    entriesAt: async (revision) => {
      const commit = await objects.info(`${revision}^{commit}`);
      if (commit === null) return null;
      const tree = await findFolder(repository, objects, commit.id);
      return tree === null ? [] : parseTreeList(await runGit(context, commands.listTree(tree)));
    },
    blob: (id, maxBytes) => objects.blob(id, maxBytes),
    isShallow: await isShallow(repository),
    close: () => objects.close(),
  };
}
