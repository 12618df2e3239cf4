import type { EntryType } from '../desired/entry.ts';

/** A person, as a commit names one. */
export interface Person {
  name: string;
  email: string;
}

/** A file as one commit has it. Equal blobs are equal bytes. */
export interface FileVersion {
  type: EntryType;
  blob: string;
}

/** A file of the folder that a commit changed, by its path below the folder; null on a side that lacks it. */
export interface FileDelta {
  path: string;
  before: FileVersion | null;
  after: FileVersion | null;
}

/** A commit of the first-parent line, and its difference to its first parent. */
export interface FolderCommit {
  /** Full commit id. */
  revision: string;
  /** Full commit ids. */
  parents: readonly string[];
  author: Person;
  committer: Person;
  /** Committer time, Unix seconds. */
  time: number;
  message: string;
  /** The authors of the commits that this merge brought from its other parents; none for other commits. */
  sideAuthors: readonly Person[];
  files: readonly FileDelta[];
}
