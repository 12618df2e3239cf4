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
