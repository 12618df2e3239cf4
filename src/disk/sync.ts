import { closeSync, fsync as fsyncCallback, open as openCallback } from 'node:fs';
import { dirname, join } from 'node:path';
import { promisify } from 'node:util';
import { inLanes } from '../async/lanes.ts';

const open = promisify(openCallback);
const fsync = promisify(fsyncCallback);

/** Makes what was renamed, made or removed in a folder outlive a loss of power. */
export function syncFolder(path: string): Promise<void> {
  return sync(path);
}

async function sync(path: string): Promise<void> {
  const file = await open(path, 'r');
  try {
    await fsync(file);
  } finally {
    // It was only read and is synced: this waits for nothing.
    closeSync(file);
  }
}

/** Syncs a folder and those above it, up to and including `top`. Folders that are gone are passed over. */
export async function syncFoldersUpTo(top: string, path: string): Promise<void> {
  for (let folder = path; ; folder = dirname(folder)) {
    await syncIfThere(folder);
    if (folder === top || folder === dirname(folder)) return;
  }
}

/** Makes files outlive a loss of power: their content and names, or that they are gone. Paths start at `top`. */
export function syncFiles(top: string, paths: readonly string[]): Promise<void> {
  return syncChanged(top, paths, () => false);
}

/**
 * `syncFiles` for a caller who knows which files existed before. For a file that existed and still does, syncing its
 * own folder is enough; for any other, each folder above it may be new or gone. Several are synced at once, so that a
 * disk can write them together.
 */
export async function syncChanged(
  top: string,
  paths: readonly string[],
  existed: (path: string) => boolean,
): Promise<void> {
  const above = new Set<string>();
  const syncOne = async (path: string): Promise<void> => {
    const isThere = await syncIfThere(join(top, path));
    if (isThere && existed(path)) return;
    for (let folder = dirname(path); folder !== '.'; folder = dirname(folder)) above.add(dirname(folder));
  };
  const syncOwn = async (folder: string): Promise<void> => void (await syncIfThere(join(top, folder)));
  const folders = new Set(paths.map((path) => dirname(path)));
  const all = [
    ...paths.map((path) => () => syncOne(path)),
    ...Array.from(folders, (folder) => () => syncOwn(folder)),
  ];
  await inLanes(AT_ONCE, all, (one) => one());
  await inLanes(AT_ONCE, [...above], syncOwn);
}

/** Each needs a descriptor, and those of devices must not be used up. */
const AT_ONCE = 16;

/** Whether there is something at the path. git removes a folder with its last file, and a file can replace a folder. */
async function syncIfThere(path: string): Promise<boolean> {
  try {
    await sync(path);
    return true;
  } catch (error) {
    if (['ENOENT', 'ENOTDIR'].includes((error as NodeJS.ErrnoException).code ?? '')) return false;
    throw error;
  }
}
