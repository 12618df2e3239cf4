import { closeSync, fsync as fsyncCallback, open as openCallback } from 'node:fs';
import { dirname, join } from 'node:path';
import { promisify } from 'node:util';
import { forEachConcurrently } from '../async/concurrency.ts';

const open = promisify(openCallback);
const fsync = promisify(fsyncCallback);

/** Paths that are synced at once. Each needs a file descriptor, and so does each connection of a device. */
const CONCURRENCY = 16;

/** Makes names that were created, changed or removed in a folder survive a loss of power. */
export function syncFolder(path: string): Promise<void> {
  return sync(path);
}

async function sync(path: string): Promise<void> {
  const file = await open(path, 'r');
  try {
    await fsync(file);
  } finally {
    // Does not block, because nothing was written through this descriptor.
    closeSync(file);
  }
}

/** Syncs a folder and all folders above it, up to and including `top`. Skips folders that no longer exist. */
export async function syncFoldersUpTo(top: string, path: string): Promise<void> {
  for (let folder = path; ; folder = dirname(folder)) {
    await syncIfExists(folder);
    if (folder === top || folder === dirname(folder)) return;
  }
}

/** Makes files survive a loss of power: their content and names, or their removal. Paths are relative to `top`. */
export function syncFiles(top: string, paths: readonly string[]): Promise<void> {
  return syncChanged(top, paths, () => false);
}

/**
 * Like `syncFiles`, for a caller who knows which files existed before. For a file that existed and still does, its own
 * folder is the only one to sync; for any other file, each folder above it can be new or gone. Several paths are synced
 * at once, so that the disk can write them together.
 */
export async function syncChanged(
  top: string,
  paths: readonly string[],
  existed: (path: string) => boolean,
): Promise<void> {
  const foldersAbove = new Set<string>();
  const syncFile = async (path: string): Promise<void> => {
    const exists = await syncIfExists(join(top, path));
    if (exists && existed(path)) return;
    for (let folder = dirname(path); folder !== '.'; folder = dirname(folder)) {
      foldersAbove.add(dirname(folder));
    }
  };
  const syncSubfolder = async (folder: string): Promise<void> => void (await syncIfExists(join(top, folder)));
  const folders = new Set(paths.map((path) => dirname(path)));
  const tasks = [
    ...paths.map((path) => () => syncFile(path)),
    ...Array.from(folders, (folder) => () => syncSubfolder(folder)),
  ];
  await forEachConcurrently(CONCURRENCY, tasks, (task) => task());
  await forEachConcurrently(CONCURRENCY, [...foldersAbove], syncSubfolder);
}

/**
 * Resolves to whether the path exists. It may not: git removes a folder with its last file, and a file can replace a
 * folder.
 */
async function syncIfExists(path: string): Promise<boolean> {
  try {
    await sync(path);
    return true;
  } catch (error) {
    if (['ENOENT', 'ENOTDIR'].includes((error as NodeJS.ErrnoException).code ?? '')) return false;
    throw error;
  }
}
