/** What an entry of the folder is. Only a `file` is ever read; `special` is a socket, a device or the like. */
export type EntryType = 'file' | 'symlink' | 'submodule' | 'special';

/** One entry of the desired-state folder, not yet read. */
export interface TreeEntry {
  /** Relative to the folder, with `/` between the parts. */
  path: string;
  type: EntryType;
  /** Name of the content: equal names are equal bytes. */
  blob: string;
}

/** The bytes of a blob, or why there are none: `tooLarge` is its size in bytes. */
export type BlobContent = { bytes: Uint8Array } | { tooLarge: number } | { missing: true };
