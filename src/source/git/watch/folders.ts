import { type FSWatcher, watch } from 'node:fs';
import { lstat, readdir } from 'node:fs/promises';
import { join } from 'node:path';

/** Called with each name that changes in a folder; with null if the system does not report which name it is. */
export type OnName = (name: string | null) => void;

/**
 * Watches the names in one folder, not the content of its files. Returns a function that ends the watch. A folder that
 * cannot be watched is ignored: whoever depends on it also polls.
 */
export function watchNames(folder: string, onName: OnName): () => void {
  const watcher = tryWatch(folder, (_event, name) => onName(name));
  watcher?.on('error', () => onName(null));
  return () => watcher?.close();
}

/**
 * Watches a folder and every folder below it, now or later. Names that are `isIgnored` are passed over; any other name
 * that comes or goes costs one `lstat`. Raw events, since `git commit` renames `main.lock` to `main`: a watcher that
 * compares states lost the second of two quick renames. Not `recursive`: on Linux it sets a watch on every file.
 */
export async function watchFolders(
  top: string,
  isIgnored: (name: string) => boolean,
  onName: OnName,
): Promise<() => void> {
  const tree = new WatchedTree(isIgnored, onName);
  await tree.add(top);
  return () => tree.close();
}

class WatchedTree {
  readonly #isIgnored: (name: string) => boolean;
  readonly #onName: OnName;
  readonly #folders = new Map<string, { identity: string; watcher: FSWatcher }>();
  #isClosed = false;

  constructor(isIgnored: (name: string) => boolean, onName: OnName) {
    this.#isIgnored = isIgnored;
    this.#onName = onName;
  }

  /** Starts to watch before it lists the folder, so that nothing made in between is missed. */
  async add(folder: string): Promise<void> {
    const identity = await identify(folder);
    if (identity === null) return this.#drop(folder);
    if (this.#isClosed || this.#folders.get(folder)?.identity === identity) return;
    this.#drop(folder);
    const watcher = tryWatch(folder, (event, name) => this.#hear(folder, event, name));
    if (watcher === null) return;
    watcher.on('error', () => this.#drop(folder));
    this.#folders.set(folder, { identity, watcher });
    const entries = await readdir(folder, { withFileTypes: true }).catch(() => []);
    const folders = entries.filter((entry) => entry.isDirectory());
    await Promise.all(folders.map(({ name }) => this.add(join(folder, name))));
  }

  close(): void {
    this.#isClosed = true;
    for (const { watcher } of this.#folders.values()) watcher.close();
    this.#folders.clear();
  }

  #hear(folder: string, event: string, name: string | null): void {
    if (this.#isClosed || (name !== null && this.#isIgnored(name))) return;
    this.#onName(name);
    if (event === 'rename') void this.#addBelow(name === null ? folder : join(folder, name), name);
  }

  /** Watches what may be a new folder, and reports it once more, since names in it may have gone unreported. */
  async #addBelow(path: string, name: string | null): Promise<void> {
    const countBefore = this.#folders.size;
    await this.add(path);
    if (this.#folders.size > countBefore && !this.#isClosed) this.#onName(name);
  }

  /** Ends the watches of a folder and of all folders below it. */
  #drop(folder: string): void {
    for (const [path, { watcher }] of this.#folders) {
      if (path !== folder && !path.startsWith(`${folder}/`)) continue;
      watcher.close();
      this.#folders.delete(path);
    }
  }
}

/**
 * Identifies a folder even against its successor of the same name, which can get the same inode; null if there is no
 * folder. A symbolic link does not count: it could lead back to its own parent.
 */
async function identify(path: string): Promise<string | null> {
  const found = await lstat(path, { bigint: true }).catch(() => null);
  return found?.isDirectory() ? `${found.ino}:${found.birthtimeNs}` : null;
}

function tryWatch(folder: string, listener: (event: string, name: string | null) => void): FSWatcher | null {
  try {
    return watch(folder, listener);
  } catch {
    return null;
  }
}
