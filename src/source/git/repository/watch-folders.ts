import { type FSWatcher, watch } from 'node:fs';
import { lstat, readdir } from 'node:fs/promises';
import { join } from 'node:path';

/** Called for each change of a name in a folder; with null where the system does not tell which. */
export type OnName = (name: string | null) => void;

/**
 * Watches the names in one folder, not what is in the files. Returns how to end it. A folder that cannot be watched is
 * none: whoever depends on it also polls.
 */
export function watchNames(folder: string, onName: OnName): () => void {
  const watcher = open(folder, (_event, name) => onName(name));
  watcher?.on('error', () => onName(null));
  return () => watcher?.close();
}

/**
 * The same for a folder with all that are in it, now or later, without the names that `isIgnored`. Costs one look at
 * each other name that comes or goes (docs/decisions/0001-raw-watch-events.md).
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

  /** Watches first and looks then: what comes in between is heard, or seen. */
  async add(folder: string): Promise<void> {
    const identity = await identify(folder);
    if (identity === null) return this.#drop(folder);
    if (this.#isClosed || this.#folders.get(folder)?.identity === identity) return;
    this.#drop(folder);
    const watcher = open(folder, (event, name) => this.#hear(folder, event, name));
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
    if (event === 'rename') void this.#follow(name === null ? folder : join(folder, name), name);
  }

  /** A new folder can have names in it that nobody heard of. */
  async #follow(path: string, name: string | null): Promise<void> {
    const known = this.#folders.size;
    await this.add(path);
    if (this.#folders.size > known && !this.#isClosed) this.#onName(name);
  }

  /** Ends the watch of a folder and of those in it. */
  #drop(folder: string): void {
    for (const [path, { watcher }] of this.#folders) {
      if (path !== folder && !path.startsWith(`${folder}/`)) continue;
      watcher.close();
      this.#folders.delete(path);
    }
  }
}

/**
 * What tells a folder from the next one of its name, which can have its inode; null where there is none. A link is
 * none: it could lead back to where it lies.
 */
async function identify(path: string): Promise<string | null> {
  const found = await lstat(path, { bigint: true }).catch(() => null);
  return found?.isDirectory() ? `${found.ino}:${found.birthtimeNs}` : null;
}

function open(folder: string, listener: (event: string, name: string | null) => void): FSWatcher | null {
  try {
    return watch(folder, listener);
  } catch {
    return null;
  }
}
