import type { BlobContent, TreeEntry } from '../desired/entry.ts';

/** A path that differs between two trees; `entry` is null if the second tree lacks it. */
export interface TreeChange {
  path: string;
  entry: TreeEntry | null;
}

/** The metadata of a commit. */
export interface CommitInfo {
  /** Committer time, Unix seconds. */
  time: number;
  /** Author time, Unix seconds. Rebasing or amending a commit keeps it. */
  authored: number;
  parents: string[];
  message: string;
}

/** What git still has of the folder's history, for a start without id counters. */
export interface FolderHistory {
  /** Every path below the folder in any commit that a ref or reflog reaches. */
  paths: Set<string>;
  /** The newest committer time among these commits, Unix seconds; 0 without commits. */
  newestCommit: number;
  /** False if paths may be missing: in a shallow clone, or if the walk failed or took too long. */
  isComplete: boolean;
}

/** Reads the objects and the history of the folder. Every method rejects as `unavailable` if they cannot be read. */
export interface IdsReader {
  /** Resolves to the id of the folder's tree at a revision; null if there is no such folder. */
  folderTree(revision: string): Promise<string | null>;
  /** Lists all entries of one of the folder's trees, recursively. */
  list(tree: string): Promise<TreeEntry[]>;
  /**
   * Resolves to the differences between two of the folder's trees; null if git cannot compare them: one of them is
   * missing from the repository, or git fails while comparing. `list` may still work then.
   */
  changes(from: string, to: string): Promise<TreeChange[] | null>;
  /** Reads a blob if it has at most `maxBytes`. */
  blob(id: string, maxBytes: number): Promise<BlobContent>;
  commit(revision: string): Promise<CommitInfo>;
  /** Whether `ancestor` is `revision` or one of its ancestors. A missing commit is nobody's ancestor. */
  isAncestor(ancestor: string, revision: string): Promise<boolean>;
  /** Resolves to a merge base of two commits; null if they have none, or if one of the commits is missing. */
  commonAncestor(one: string, other: string): Promise<string | null>;
  history(): Promise<FolderHistory>;
  /**
   * Resolves to the paths below the folder that the commits in `from..to` touched, of a merge those that differ from any of
   * its parents; null if they cannot be determined: in a shallow clone, or if there are more than fit into memory. With a
   * `from`, null also if git takes too long. `from` must be an ancestor of `to`, or null: then `to`
   * and all of its ancestors count.
   */
  touchedPaths(from: string | null, to: string): Promise<Set<string> | null>;
}
