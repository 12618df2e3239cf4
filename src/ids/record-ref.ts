/**
 * Returns the name of a line, which identifies it in stores and in the record of ids. A line is what one manager
 * follows: a folder of a repository and, if the repository is remote, a branch by its full name. In a checkout the
 * branch is null: all its branches are one line, because switching between them is a rollout.
 */
export function lineOf({ folder, branch }: { folder: string; branch: string | null }): string {
  return branch === null ? folder : `${folder}:${branch}`;
}

/** A version of a line's record of ids: its files by name or, if they cannot be read, `damage`, which says why. */
export type RecordVersion = {
  /** The object at the ref. */
  tip: string;
  /** When it was made, Unix milliseconds; 0 if it does not say. */
  at: number;
  /** The fleet whose manager made it, as it says itself; empty if it does not. */
  writer: string;
} & ({ files: ReadonlyMap<string, string> } | { damage: string });

/** A new version of the record. */
export interface RecordDraft {
  /** Texts by file name (lower-case letters, digits, dots). */
  files: ReadonlyMap<string, string>;
  /** The tip that this version replaces; null if there must be none. */
  base: string | null;
  /** Whether files of `base` that are not in `files` are kept; otherwise nothing of `base` is. */
  continues: boolean;
  /** See `RecordVersion`. */
  writer: string;
  at: number;
}

/**
 * Where the record of ids of one line is kept: a ref of the repository, beside its commits (docs/contract.md, 8.3). Other
 * lines have other refs.
 */
export interface RecordRef {
  /** Path of the folder inside the repository; the same in every clone. */
  readonly folder: string;
  /** Full name of the branch; null in a checkout, where all branches are one line. */
  readonly branch: string | null;
  /** The line of this folder and branch; see `lineOf`. */
  readonly line: string;
  /** A hash of the repository's address. */
  readonly source: string;
  /** The full name of the ref. */
  readonly name: string;
  /**
   * Whether reads return what is there now. False for a remote repository that this process has not reached yet: reads
   * then return the record as it was at an earlier contact, and another manager may have written since.
   */
  isCurrent(): boolean;
  /** Resolves to the tip of the version that counts; null if there is none. Rejects as `unavailable`. */
  tip(): Promise<string | null>;
  /** Reads that version, whose content is not to be trusted; null if there is none. Rejects as `unavailable`. */
  read(): Promise<RecordVersion | null>;
  /**
   * Replaces the version `draft.base`. Resolves to the new tip once it is durable on this machine. Rejects as `moved-on` if
   * another version counts, as `conflict` if trying again cannot help, as `unavailable` otherwise. After a rejection, either
   * version may count.
   */
  write(draft: RecordDraft): Promise<string>;
  /**
   * Sends the version that counts to where other managers see it, unless it is there. Rejects as `conflict` if it is refused
   * there, as `moved-on` if another manager has written, as `unavailable` otherwise: then it is on this machine alone.
   */
  publish(): Promise<void>;
}
