import type { BlobContent, TreeEntry } from '../desired/entry.ts';
import { HoldfastError } from '../errors.ts';

/** What HEAD says: which branch is followed, and the commit it is at. */
export interface Head {
  /** Full commit id; null on a branch without a commit. */
  revision: string | null;
  /** Full name of the branch (`refs/heads/main`); null when HEAD is detached. */
  branch: string | null;
}

/** A difference between two trees; `entry` is null where the path is gone. */
export interface TreeChange {
  path: string;
  entry: TreeEntry | null;
}

/** What a commit says of itself. */
export interface CommitInfo {
  /** Committer's time, Unix seconds. */
  time: number;
  /** Author's time, Unix seconds: it stays when a commit is made again. */
  authored: number;
  parents: string[];
  message: string;
}

/** What git knows of the folder's history, for a start without id counters. */
export interface FolderHistory {
  /** Every path that a commit of any branch ever had below the folder. */
  paths: Set<string>;
  /** Newest committer's time of all branches, Unix seconds; 0 without commits. */
  newestCommit: number;
  /** False where names may be missing: in a shallow clone, or when the walk took too long. */
  isComplete: boolean;
}

/**
 * Reads one folder of one repository, always as objects at a revision, never from a checkout.
 * Every method rejects as `unavailable` when git cannot be asked.
 */
export interface Reader {
  /**
   * Where the branch is now: read after the call, never cached. The order of many managers rests on it
   * (docs/decisions/0007-one-head.md, "Heads in order").
   */
  head(): Promise<Head>;
  /** Id of the folder's tree at a revision; null where the folder is not there (or is not a folder). */
  folder(revision: string): Promise<string | null>;
  /** Every entry below a folder's tree. */
  list(tree: string): Promise<TreeEntry[]>;
  /**
   * What differs between two of the folder's trees; null where that cannot be said: one of them is not in the
   * repository (any more), or git dies of comparing them.
   */
  changes(from: string, to: string): Promise<TreeChange[] | null>;
  /** The bytes of a blob, if there are at most `maxBytes`. */
  blob(id: string, maxBytes: number): Promise<BlobContent>;
  commit(revision: string): Promise<CommitInfo>;
  /** The newest commit up to `revision` that changed the folder; null where none did. */
  lastChange(revision: string): Promise<string | null>;
  isAncestor(ancestor: string, revision: string): Promise<boolean>;
  /** A merge base of two commits; null where there is none, or where one of the commits is missing. */
  commonAncestor(one: string, other: string): Promise<string | null>;
  history(): Promise<FolderHistory>;
  /**
   * Paths below the folder that any commit touched which `to` has and `from` has not; null where that cannot be
   * told: in a shallow clone, and where there are more than fit into memory. `from` is an ancestor of `to`.
   */
  touched(from: string, to: string): Promise<Set<string> | null>;
  /**
   * Every commit on a way from `from` (without it) to `to` (which comes first): where a branch can have been that only
   * ever moved forward. Null where that cannot be told, in a shallow clone.
   */
  between(from: string, to: string): Promise<string[] | null>;
  /**
   * Commits that the followed branch was at, as far as git remembers them; one list for each way in which it could
   * move, newest first.
   */
  visited(): Promise<string[][]>;
  close(): Promise<void>;
}

/** A new text of one file of the folder; null removes the file. */
export interface FileEdit {
  path: string;
  text: string | null;
}

/** One commit to be made. */
export interface CommitDraft {
  edits: readonly FileEdit[];
  /** Subject, and trailers after an empty line. */
  message: string;
  author: { name: string; email: string };
  /** Unix milliseconds. */
  at: number;
}

/** Called with commits that are made and not published yet. */
type OnMade = (commits: readonly string[]) => void;

/** A `conflict` with the state of the repository, not with what is written: any other draft would meet it, too. */
export class RepositoryConflict extends HoldfastError {
  constructor(message: string, cause?: unknown) {
    super('conflict', message, {}, cause);
  }
}

/** Makes commits and publishes them. */
export interface Publisher {
  /**
   * Makes one commit for each draft, each on top of the one before, the first on `base`, and publishes all of them
   * at once. Resolves to their ids when they are durable.
   *
   * Rejects as `moved-on` when the branch is not at `base` any more, as `conflict` when the checkout or the
   * branch refuses (with `details.paths`, the paths of the drafts; as a RepositoryConflict whatever the drafts), as
   * `unavailable` when git or origin cannot be reached. After a rejection nothing is published, except with
   * `details.commits`: whether these commits (one for each draft) have arrived is not known.
   *
   * `onMade` is told of the commits once they are in the repository that is read, before they are published.
   */
  publish(base: Head, drafts: readonly CommitDraft[], onMade?: OnMade): Promise<string[]>;
  close(): Promise<void>;
}

/**
 * A line as one text, which stores keep and the record is kept by: the folder of a repository whose history is
 * followed, and of a repository elsewhere also the branch, by its full name. A checkout has all its branches (null):
 * which one is served is a matter of a switch.
 */
export function lineOf({ folder, branch }: { folder: string; branch: string | null }): string {
  return branch === null ? folder : `${folder}:${branch}`;
}

/**
 * What the ids record says for a line: the files of its section by name, or `damage`, a sentence on why they cannot be
 * read. `version` tells it from everything else that could stand there.
 */
export type SectionText = { version: string } & ({ files: ReadonlyMap<string, string> } | { damage: string });

/** One version of what the ids record says for a line. */
export interface SectionDraft {
  /** Texts by file name (lower-case letters, digits, dots). */
  files: ReadonlyMap<string, string>;
  /** The version that stands there now: null for nothing. */
  expected: string | null;
  /** Whether files of `expected` that are not among `files` stay; otherwise they go. */
  keepsOthers: boolean;
  /** Unix milliseconds. */
  at: number;
}

/**
 * Keeps the record of ids beside the commits (decisions, "Ids"), at `refs/holdfast/ids`: a section for each line. What
 * is read and written is the section of the manager's own line unless said otherwise; what others do in theirs does not
 * concern it.
 */
export interface IdsRecord {
  /** Path of the folder that the section is about, inside the repository; the same for every clone. */
  readonly folder: string;
  /** Which branch, by its full name; null for whatever a checkout has. */
  readonly branch: string | null;
  /** Both: see `lineOf`. */
  readonly line: string;
  /** A hash of where the repository is. */
  readonly source: string;
  /**
   * Whether what is read is no older than this process: false for a repository elsewhere that was not reached yet. What
   * is read then is what was known there before, and somebody can have written another version since.
   */
  isCurrent(): boolean;
  /** Why what was read or written last stands on this machine alone, where others do not see it; null where they do. */
  aside(): string | null;
  /** Reads a section without trusting it; null where there is none. Rejects as `unavailable`. */
  read(line?: string): Promise<SectionText | null>;
  /**
   * The file of this name of every section, also the own one, in which it can be read, wherever the record stands.
   * Rejects as `unavailable`.
   */
  readOfEach(file: string): Promise<string[]>;
  /**
   * Puts a version in the place of the one before. Resolves to what tells it when it is durable. Rejects as `moved-on`
   * when another version than the expected one stands there, as `conflict` when the record is refused for good, as
   * `unavailable` otherwise; after a rejection either version may stand there.
   */
  write(draft: SectionDraft): Promise<string>;
}

/** Notices that something may have moved. Carries no payload: whoever is notified reads again. */
export interface Watcher {
  close(): Promise<void>;
}

/** A repository elsewhere that a source follows. */
export interface SourceOrigin {
  /** Fetches. Rejects as `unavailable`, with a message that says what to check. */
  refresh(): Promise<void>;
  /**
   * Ends at once what is under way there, but for the record of ids: what needs it rejects, as it does whenever the manager
   * is shutting down (`isOfShutdown`).
   */
  interrupt(): void;
  /**
   * The same, and begins nothing more. Also ends a sending of the record that is under way, since looks and writes may
   * wait for its turn to end; later ones are sent still. For the end of the process.
   */
  abandon(): void;
  /** Ends the sending of the record, and begins no more: it stays where it is without origin. */
  abandonRecord(): void;
}

/** Where revisions come from and go to. */
export interface Source {
  reader: Reader;
  publisher: Publisher;
  record: IdsRecord;
  /** Null where the repository that is read is the origin. */
  origin: SourceOrigin | null;
  /** Whether somebody has made the folder, also where no commit has it yet. */
  isFolderMade(): Promise<boolean>;
  /** Ends every process and closes reader and publisher. */
  close(): Promise<void>;
  /** Calls `onChange` whenever the head may have moved, until closed. */
  watch(onChange: () => void): Promise<Watcher>;
}
