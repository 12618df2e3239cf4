/** The type of an entry of the folder. Only a `file` is ever read; `special` is a socket, a device or similar. */
export type EntryType = 'file' | 'symlink' | 'submodule' | 'special';

/** One entry of the desired-state folder, not yet read. */
export interface TreeEntry {
  /** Relative to the folder, with `/` between the parts. */
  path: string;
  type: EntryType;
  /** Id of the content: equal ids mean equal bytes. */
  blob: string;
}

/** The bytes of a blob, or the reason why there are none: `tooLarge` is the size in bytes. */
export type BlobContent = { bytes: Uint8Array } | { tooLarge: number } | { missing: true };
