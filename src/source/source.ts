import type { BlobContent, TreeEntry } from '../desired/entry.ts';
import { HoldfastError } from '../errors.ts';
import type { FolderCommit } from '../history/commit.ts';

/** The branch that is followed, and its newest commit. */
export interface Head {
  /** Full commit id; null if the branch has no commit yet. */
  revision: string | null;
  /** Full name of the branch (`refs/heads/main`); null if a detached HEAD is followed. */
  branch: string | null;
}

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

/** Which commits of the first-parent line to read. */
export interface LogQuery {
  /** The newest one: a full commit id. */
  from: string;
  /** Leaves out this commit and all that it descends from; null leaves out none. */
  until: string | null;
  /** The most commits. */
  limit: number;
  /** Whether the first commit that would be read is left out: the last one of the page before. */
  skipsFirst: boolean;
}

/** A page of commits. */
export interface FolderLog {
  /** Newest first; only those that changed the folder. */
  commits: FolderCommit[];
  /** Where the next page begins (`from`, with `skipsFirst`); null if this was the last one. */
  next: string | null;
  /** Whether the line goes on, but the clone is shallow and lacks the rest. */
  isCut: boolean;
}

/**
 * Reads one folder of one repository, always as objects at a revision and never from a checkout. Every method rejects
 * as `unavailable` if git cannot read the repository.
 */
export interface Reader {
  /**
   * Resolves to the current head. It is read after the call and never cached: the order in which many managers apply
   * revisions depends on it (docs/decisions/0007-one-root-document.md, "Heads in order").
   */
  head(): Promise<Head>;
  /**
   * Resolves to the commit that a user names: by its full id or a unique beginning of it, or by a branch or a tag. Null if
   * there is none, also for git's expressions (`main~1`, `HEAD@{1}`).
   */
  resolve(name: string): Promise<string | null>;
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
  /** Resolves to the newest commit, `revision` or an ancestor of it, that changed the folder; null if none did. */
  lastChange(revision: string): Promise<string | null>;
  /** Whether `ancestor` is `revision` or one of its ancestors. A missing commit is nobody's ancestor. */
  isAncestor(ancestor: string, revision: string): Promise<boolean>;
  /** Resolves to a merge base of two commits; null if they have none, or if one of the commits is missing. */
  commonAncestor(one: string, other: string): Promise<string | null>;
  history(): Promise<FolderHistory>;
  /** Resolves to commits of the first-parent line, each with its difference to its first parent. */
  log(query: LogQuery): Promise<FolderLog>;
  /**
   * Resolves to the paths below the folder that the commits in `from..to` touched; null if they cannot be determined:
   * in a shallow clone, or if there are more than fit into memory. `from` must be an ancestor of `to`, or null: then `to`
   * and all of its ancestors count.
   */
  touchedPaths(from: string | null, to: string): Promise<Set<string> | null>;
  /**
   * Resolves to the commits in `from..to` that descend from `from`, beginning with `to`: all that a branch can have
   * pointed to if it got from `from` to `to` by fast-forwards alone. Null in a shallow clone, which cannot tell.
   */
  commitsBetween(from: string, to: string): Promise<string[] | null>;
  /** Ends the git processes of the reader. */
  close(): Promise<void>;
}

/** The new text of one file of the folder; null removes the file. */
export interface FileEdit {
  path: string;
  text: string | null;
}

/** A commit to make. */
export interface CommitDraft {
  edits: readonly FileEdit[];
  /** Subject, and trailers after an empty line. */
  message: string;
  author: { name: string; email: string };
  /** Author and committer time, Unix milliseconds. */
  at: number;
}

/** A `conflict` caused by the state of the repository: it would refuse every other draft, too. */
export class RepositoryConflict extends HoldfastError {
  constructor(message: string, cause?: unknown) {
    super('conflict', message, {}, cause);
  }
}

/** Makes commits and publishes them. */
export interface Publisher {
  /**
   * Makes one commit per draft, the first on `base` and each other one on the commit before it, and publishes them all
   * at once. Resolves to their ids once they are durable.
   *
   * Rejects as `moved-on` if the branch is no longer at `base`, or someone has switched to it or away from it; as `conflict` if the checkout or the branch refuses the
   * commits, with `details.paths` if the reason lies in these files of the drafts, and as a RepositoryConflict if every
   * draft would be refused; as `unavailable` if git or origin cannot be reached. After a rejection nothing is
   * published, unless `details.commits` is set: then it is unknown whether these commits, one per draft, are
   * published.
   */
  publish(base: Head, drafts: readonly CommitDraft[]): Promise<string[]>;
  /** Ends the git processes of the publisher. */
  close(): Promise<void>;
}

/**
 * Returns the name of a line, which identifies it in stores and in the record of ids. A line is what one manager
 * follows: a folder of a repository and, if the repository is remote, a branch by its full name. In a checkout the
 * branch is null: all its branches are one line, because switching between them is a rollout.
 */
export function lineOf({ folder, branch }: { folder: string; branch: string | null }): string {
  return branch === null ? folder : `${folder}:${branch}`;
}

/**
 * One line's section of the record of ids: its files by name or, if they cannot be read, `damage`, a sentence that says
 * why. `version` identifies this content: anything else that is stored for the line has another version.
 */
export type SectionText = { version: string } & ({ files: ReadonlyMap<string, string> } | { damage: string });

/** A new version of a line's section. */
export interface SectionDraft {
  /** Texts by file name (lower-case letters, digits, dots). */
  files: ReadonlyMap<string, string>;
  /** The version that this one replaces; null if there must be none. */
  expected: string | null;
  /** Whether files of `expected` that are not in `files` are kept; otherwise they are removed. */
  keepsOtherFiles: boolean;
  /** Commit time, Unix milliseconds. */
  at: number;
}

/**
 * The record of ids, which the repository keeps beside its commits at `refs/holdfast/ids` (docs/contract.md, 8.3), with one
 * section for each line. Methods read and write the section of the manager's own line; what other managers write to their
 * sections does not affect it.
 */
export interface IdsRecord {
  /** Path of the folder inside the repository; the same in every clone. */
  readonly folder: string;
  /** Full name of the branch; null in a checkout, where all branches are one line. */
  readonly branch: string | null;
  /** The line of this folder and branch; see `lineOf`. */
  readonly line: string;
  /** A hash of the repository's address. */
  readonly source: string;
  /**
   * Whether reads return what is there now. False for a remote repository that this process has not reached yet: reads
   * then return the record as it was at an earlier contact, and another manager may have written since.
   */
  isCurrent(): boolean;
  /**
   * Why the version that was last read or written is only on this machine, where other managers do not see it; null if
   * they do.
   */
  localOnlyReason(): string | null;
  /** Reads the section, whose content is not to be trusted; null if there is none. Rejects as `unavailable`. */
  read(): Promise<SectionText | null>;
  /**
   * Replaces the version `draft.expected` of the section. Resolves to the new version once it is durable. Rejects as
   * `moved-on` if the section has another version than the expected one, as `conflict` if trying again cannot help, as
   * `unavailable` otherwise. After a rejection, the section may have either version.
   */
  write(draft: SectionDraft): Promise<string>;
}

/** A running watch. It does not report what has moved: its owner has to read again. */
export interface Watcher {
  close(): Promise<void>;
}

/** The remote repository that a source follows. */
export interface SourceOrigin {
  /** Fetches. Rejects as `unavailable`, with a message that says what to check. */
  refresh(): Promise<void>;
  /**
   * Ends running transfers at once, except those of the record of ids. Calls that needed them reject with an error that
   * `isShutdownError` recognizes.
   */
  interrupt(): void;
  /**
   * Like `interrupt`, but also lets no transfer start any more, and ends a running transfer of the record, because
   * fetches and pushes may be waiting for their turn behind it. Later transfers of the record still run. For the end of
   * the process.
   */
  abandon(): void;
  /** Ends running transfers of the record of ids and starts no more: it then stays on this machine. */
  abandonRecord(): void;
}

/** A repository from which revisions are read and to which commits are published. */
export interface Source {
  reader: Reader;
  publisher: Publisher;
  record: IdsRecord;
  /** The remote repository; null if the source is a repository of this machine. */
  origin: SourceOrigin | null;
  /** Whether the folder exists on disk, even if no commit has it yet. Always false for a remote repository. */
  isFolderOnDisk(): Promise<boolean>;
  /** Ends every process and closes reader and publisher. */
  close(): Promise<void>;
  /**
   * Calls `onChange` whenever the head may have moved, until the watcher is closed. A remote repository cannot be
   * watched: what moves there is found by `refresh`.
   */
  watch(onChange: () => void): Promise<Watcher>;
}
