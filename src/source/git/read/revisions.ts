import type { BlobContent, TreeEntry } from '../../../desired/entry.ts';
import { commands } from '../process/commands.ts';
import { runGit } from '../process/run.ts';
import { currentBranch, tipOf, unreadable } from '../repository/refs.ts';
import { findRepository, isShallow, type Machine, type Repository } from '../repository/repository.ts';
import { findFolder } from './folder-tree.ts';
import { openObjects } from './objects.ts';
import { readCommonAncestor } from './reader.ts';
import { parseTreeList } from './tree.ts';
import { readUnlikeDisk, type UnlikeDisk } from './unlike-disk.ts';

/** The folder at any revision that somebody names, for commands. */
export interface RevisionReader {
  /**
   * Entries of the folder at `HEAD`, `origin/main`, `v1.2~3` and the like; null where that is no commit. Rejects as
   * `unavailable` for a `HEAD` whose commit cannot be read: that is no repository without a commit.
   */
  entriesAt(revision: string): Promise<TreeEntry[] | null>;
  blob(id: string, maxBytes: number): Promise<BlobContent>;
  /** The commit at which two revisions parted; null where they have none in common, or one of them is no commit. */
  commonAncestor(one: string, other: string): Promise<string | null>;
  /** What a commit of the work tree would have otherwise than the folder as it lies on the disk. */
  unlikeDisk(): Promise<UnlikeDisk>;
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
  const commitAt = (revision: string) => objects.info(`${revision}^{commit}`);
  return {
    entriesAt: async (revision) => {
      const commit = await commitAt(revision);
      if (commit === null) {
        if (revision === 'HEAD') await requireNoCommit(repository);
        return null;
      }
      const tree = await findFolder(repository, objects, commit.id);
      return tree === null ? [] : parseTreeList(await runGit(context, commands.listTree(tree)));
    },
    blob: (id, maxBytes) => objects.blob(id, maxBytes),
    commonAncestor: async (one, other) => {
      const [first, second] = [await commitAt(one), await commitAt(other)];
      if (first === null || second === null) return null;
      return readCommonAncestor(repository, objects, first.id, second.id);
    },
    unlikeDisk: () => readUnlikeDisk(repository),
    isShallow: await isShallow(repository),
    close: () => objects.close(),
  };
}

async function requireNoCommit(repository: Repository): Promise<void> {
  const branch = await currentBranch(repository);
  if (branch === null || (await tipOf(repository, branch)) !== null) throw unreadable(branch);
}
