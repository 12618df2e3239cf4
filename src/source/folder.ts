import type { Dirent } from 'node:fs';
import type { BlobContent, EntryType, TreeEntry } from '../desired/entry.ts';

/** The part of the file system API that reading a plain folder needs; `node:fs/promises` and memfs both have it. */
export interface FileSystem {
  readdir(path: string, options: { withFileTypes: true }): Promise<Dirent[]>;
  stat(path: string): Promise<{ size: number }>;
  readFile(path: string): Promise<Uint8Array>;
}

/** Reads a plain folder on disk, for `validate` and `plan`: without git, and without a cache. */
export interface FolderReader {
  /** Lists every file below the folder, sorted by path. The `blob` of an entry is its path. */
  list(): Promise<TreeEntry[]>;
  blob(path: string, maxBytes: number): Promise<BlobContent>;
}

export function createFolderReader(fs: FileSystem, folder: string): FolderReader {
  return {
    list: async () => (await walk(fs, folder, '')).sort((a, b) => (a.path < b.path ? -1 : 1)),
    blob: async (path, maxBytes) => {
      try {
        const { size } = await fs.stat(`${folder}/${path}`);
        return size > maxBytes ? { tooLarge: size } : { bytes: await fs.readFile(`${folder}/${path}`) };
      } catch {
        return { missing: true };
      }
    },
  };
}

/** Lists the files below a subfolder, whose path is relative to `folder` ("" for the folder itself). */
async function walk(fs: FileSystem, folder: string, subfolder: string): Promise<TreeEntry[]> {
  const entries = await fs.readdir(subfolder === '' ? folder : `${folder}/${subfolder}`, {
    withFileTypes: true,
  });
  // git would commit a repository inside the folder as a submodule.
  if (subfolder !== '' && entries.some(({ name }) => name === '.git')) {
    return [entryAt(subfolder, 'submodule')];
  }
  const found = entries.map(async (entry): Promise<TreeEntry[]> => {
    const path = subfolder === '' ? entry.name : `${subfolder}/${entry.name}`;
    if (entry.name === '.git') return [];
    return entry.isDirectory() ? walk(fs, folder, path) : [entryAt(path, typeOf(entry))];
  });
  return (await Promise.all(found)).flat();
}

function entryAt(path: string, type: EntryType): TreeEntry {
  return { path, type, blob: path };
}

function typeOf(entry: Dirent): EntryType {
  if (entry.isSymbolicLink()) return 'symlink';
  return entry.isFile() ? 'file' : 'special';
}
