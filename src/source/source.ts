import type { TreeEntry } from '../desired/entry.ts';
import type { ReadBlob } from '../desired/load.ts';
import { HoldfastError } from '../errors.ts';
import type { Person } from '../history/commit.ts';
import type { History } from '../history/history.ts';
import type { IdsReader } from '../ids/ids-reader.ts';
import type { RecordRef } from '../ids/record-ref.ts';

/** The branch that is followed, and its newest commit. */
export interface Head {
  /** Full commit id; null if the branch has no commit yet. */
  revision: string | null;
  /** Full name of the branch (`refs/heads/main`); null if a detached HEAD is followed. */
  branch: string | null;
}

/** A line of a file, and the commit that wrote it. */
export interface BlamedLine {
  text: string;
  revision: string;
  author: Person;
  /** The committer's name. */
  committer: string;
  /** Committer time, Unix seconds. */
  time: number;
}

/**
 * Reads one folder of one repository, always as objects at a revision and never from a checkout. Every method rejects
 * as `unavailable` if git cannot read the repository.
 */
export interface Reader extends IdsReader, History {
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
  /** Resolves to the newest commit, `revision` or an ancestor of it, that changed the folder; null if none did. */
  lastChange(revision: string): Promise<string | null>;
  /** Resolves to the lines of a file of the folder, each with the commit that wrote it. The file must be there. */
  blame(revision: string, path: string): Promise<BlamedLine[]>;
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

/** A `conflict` caused by the state of the repository: it would also refuse every other draft. */
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

/** What comes out of a merge. It can be read until the function that it was given to has ended. */
export interface Merged {
  /** The files of the folder. Those in conflict have any content, and can be missing. */
  files: readonly TreeEntry[];
  /** Reads a file of the merge. */
  blob: ReadBlob;
  /** Paths of the files in conflict, relative to the folder: one elsewhere in the repository begins with `../`. */
  conflicts: readonly string[];
}

/** What a watch reports. */
export interface WatchEvents {
  onChange(): void;
  onTrouble(error: unknown): void;
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
   * Looks for a branch, a tag, a pull request (`pr/12`, `mr/12`) or a full commit id at origin, and makes its commit
   * readable for now. Resolves to its full id; null if origin does not have it. Rejects as `unavailable`.
   */
  find(name: string): Promise<string | null>;
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
  /** Where the repository is, for people: the address of the remote one, or the folder of one on this machine. */
  address: string;
  reader: Reader;
  publisher: Publisher;
  record: RecordRef;
  /** The remote repository; null if the source is a repository of this machine. */
  origin: SourceOrigin | null;
  /**
   * The address of the repository that commits come from, perhaps with credentials: of the origin or, of a clone on this machine,
   * of its remote. Null if there is none.
   */
  remote: string | null;
  /** Whether the folder exists on disk, even if no commit has it yet. Always false for a remote repository. */
  isFolderOnDisk(): Promise<boolean>;
  /**
   * Merges `revision` into `base`, both full commit ids, as git would, and resolves to what `use` makes of the result. Writes
   * nothing that stays, and neither settings nor attributes of the repository count. One merge runs at a time. Rejects as
   * `unavailable` if git cannot do it within its limits of time, memory and output, also if the commits have no ancestor in common.
   */
  merge<T>(base: string, revision: string, use: (merged: Merged) => Promise<T>): Promise<T>;
  /** Ends every process and closes reader and publisher. */
  close(): Promise<void>;
  /**
   * Calls `onChange` whenever the head may have moved, until the watcher is closed, and `onTrouble` if the watch cannot be
   * set or has died. A remote repository cannot be watched: what moves there is found by `refresh`.
   */
  watch(events: WatchEvents): Promise<Watcher>;
}
