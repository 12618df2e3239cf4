import type { Dirent } from 'node:fs';
import type { BlobContent, EntryType, TreeEntry } from '../desired/entry.ts';

/** What reading a plain folder needs of the file system; `node:fs/promises` and memfs both have it. */
export interface FileSystem {
  readdir(path: string, options: { withFileTypes: true }): Promise<Dirent[]>;
  stat(path: string): Promise<{ size: number }>;
  readFile(path: string): Promise<Uint8Array>;
}

/** A plain folder as it lies on the disk, for `validate` and `plan`: no git, nothing remembered. */
export interface FolderReader {
  /** Every file below the folder, in the order of the paths; `blob` is the path. */
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

async function walk(fs: FileSystem, folder: string, below: string): Promise<TreeEntry[]> {
  const entries = await fs.readdir(below === '' ? folder : `${folder}/${below}`, { withFileTypes: true });
  // A repository inside the folder is what git would commit as a submodule.
  if (below !== '' && entries.some(({ name }) => name === '.git')) return [entryAt(below, 'submodule')];
  const found = entries.map(async (entry): Promise<TreeEntry[]> => {
    const path = below === '' ? entry.name : `${below}/${entry.name}`;
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
