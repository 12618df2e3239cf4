import type { TreeEntry } from '../desired/entry.ts';
import type { ReadBlob } from '../desired/load.ts';
import type { FolderCommit } from './commit.ts';

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

/** Reads what a folder was in the past, in a manager as in the clone of a user. */
export interface History {
  /** Lists the files of the folder at a commit; none if it has no such folder. Null if there is no such commit. */
  entriesAt(revision: string): Promise<readonly TreeEntry[] | null>;
  /** Resolves to commits of the first-parent line, each with its difference to its first parent. */
  log(query: LogQuery): Promise<FolderLog>;
  blob: ReadBlob;
}
