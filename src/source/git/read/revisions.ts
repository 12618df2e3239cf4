import type { TreeEntry } from '../../../desired/entry.ts';
import type { History } from '../../../history/history.ts';
import { commands } from '../process/commands.ts';
import { runGit } from '../process/run.ts';
import { branchTip, currentBranch, unreadableCommit } from '../refs/tips.ts';
import { remoteAddress } from '../repository/remote-address.ts';
import { findRepository, isShallow, type Machine, type Repository } from '../repository/repository.ts';
import { type DiskDifferences, readDiskDifferences } from './disk-differences.ts';
import { findFolder } from './folder-tree.ts';
import { readLog } from './log.ts';
import { openObjects } from './objects.ts';
import { readCommonAncestor } from './reader.ts';
import { parseTreeList } from './tree.ts';

/** Reads the folder at any revision that a user names, for the commands. */
export interface RevisionReader extends History {
  /**
   * Lists the folder at `HEAD`, `origin/main`, `v1.2~3` and the like, or `back` first parents before it; null if that is
   * not a commit. Rejects as `unavailable` for a `HEAD` whose commit cannot be read, unlike for a `HEAD` that has no
   * commit yet.
   */
  entriesAt(revision: string, back?: number): Promise<TreeEntry[] | null>;
  /** Resolves to the full id of the commit that a revision names; null if it names none. */
  commit(revision: string): Promise<string | null>;
  /** Resolves to the newest first parent of `HEAD` that was made, as committers say, by a time in Unix milliseconds; null if none was. */
  commitBy(time: number): Promise<string | null>;
  /** Resolves to the names of all branches and tags; those of a remote begin with its name. */
  names(): Promise<string[]>;
  /** Resolves to a merge base of two revisions; null if they have none, or if one of them is not a commit. */
  commonAncestor(one: string, other: string): Promise<string | null>;
  /** Resolves to how a commit of the work tree would differ from the folder on disk. */
  diskDifferences(): Promise<DiskDifferences>;
  /** The address of the remote that the clone comes from, perhaps with credentials; null if there is none. */
  remote: string | null;
  /** Whether the clone has only a part of the history. */
  isShallow: boolean;
  close(): Promise<void>;
}

/** Opens the repository that a folder is in; null if it is in none. */
export async function openRevisions(folder: string, machine: Machine): Promise<RevisionReader | null> {
  const repository = await findRepository(folder, machine);
  if (repository === null) return null;
  const { context } = repository;
  const objects = openObjects(context);
  const commitAt = (revision: string) => objects.info(`${revision}^{commit}`);
  return {
    entriesAt: async (revision, back = 0) => {
      const commit = await commitAt(back === 0 ? revision : `${revision}~${back}`);
      if (commit === null) {
        if (revision === 'HEAD' && back === 0) await requireNoCommit(repository);
        return null;
      }
      const tree = await findFolder(repository, objects, commit.id);
      return tree === null ? [] : parseTreeList(await runGit(context, commands.listTree(tree)));
    },
    commit: async (revision) => (await commitAt(revision))?.id ?? null,
    commitBy: async (time) =>
      (await runGit(context, commands.madeBy(Math.max(0, Math.floor(time / 1000))))).trim() || null,
    names: async () => (await runGit(context, commands.refNames())).split('\n').filter(Boolean),
    log: (query) => readLog(repository, query),
    blob: (id, maxBytes) => objects.blob(id, maxBytes),
    commonAncestor: async (one, other) => {
      const [first, second] = [await commitAt(one), await commitAt(other)];
      if (first === null || second === null) return null;
      return readCommonAncestor(repository, objects, first.id, second.id);
    },
    diskDifferences: () => readDiskDifferences(repository),
    remote: await remoteAddress(repository),
    isShallow: await isShallow(repository),
    close: () => objects.close(),
  };
}

/** Rejects as `unavailable` if `HEAD` has a commit, which then cannot be read. */
async function requireNoCommit(repository: Repository): Promise<void> {
  const branch = await currentBranch(repository);
  if (branch === null || (await branchTip(repository, branch)) !== null) throw unreadableCommit(branch);
}
