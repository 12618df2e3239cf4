import { stat as statCallback } from 'node:fs';
import { readdir } from 'node:fs/promises';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { forEachConcurrently } from '../../../async/concurrency.ts';
import { mayRead } from '../../../disk/exists.ts';
import { syncFiles } from '../../../disk/sync.ts';
import type { Repository } from './repository.ts';

/** Milliseconds after which any system has written unsynced files by itself; most do so within a minute. */
const WRITEBACK_TIME = 3_600_000;
/** File times lag behind the clock by less than this (milliseconds). */
const LAG = 1000;
/** Folders of loose objects, and of packs. */
const OBJECTS = /^([0-9a-f]{2}|pack)$/;
/** How many folders or files are checked at a time: all folders together take a third of the time of 16 at a time. */
const AT_ONCE = 257;

/** `stat` of `node:fs/promises` blocks the event loop, and with it the devices' requests, for twice as long. */
const stat = promisify(statCallback);

/** Makes sure that a commit of ours does not survive a loss of power without what it needs. */
export interface ObjectsOnDisk {
  /** Resolves when everything that a commit needs is on the disk; at once if it was marked as synced. */
  syncBelow(base: string | null): Promise<void>;
  /** Resolves when all objects that the repository got lately are on the disk. */
  sync(): Promise<void>;
  /** Records that a commit is on the disk, with everything it needs. */
  markSynced(commit: string): void;
}

/** git syncs no names of objects, and a user's git no loose objects either, unless it is configured to. */
export function createObjectsOnDisk({ commonFolder }: Pick<Repository, 'commonFolder'>): ObjectsOnDisk {
  let syncedCommit: string | null = null;
  let syncedAt = 0;
  const sync = async (): Promise<void> => {
    const now = Date.now();
    // A time in the future is from before the clock was set back, and excludes nothing.
    const lastSync = syncedAt > now ? 0 : syncedAt;
    await syncNewObjects(join(commonFolder, 'objects'), Math.max(lastSync - LAG, now - WRITEBACK_TIME));
    syncedAt = now;
  };
  return {
    sync,
    syncBelow: async (base) => {
      if (base !== null && base !== syncedCommit) await sync();
    },
    markSynced: (commit) => {
      syncedCommit = commit;
    },
  };
}

/**
 * Syncs all objects that are newer than a time (Unix milliseconds), not only those of one commit: asking git for these
 * takes longer than checking 257 folders.
 */
async function syncNewObjects(objects: string, since: number): Promise<void> {
  const folders = (await readdir(objects)).filter((name) => OBJECTS.test(name));
  const files: string[] = [];
  await forEachConcurrently(AT_ONCE, await changedSince(objects, folders, since), async (folder) => {
    const names = (await readdir(join(objects, folder)).catch(() => [])).map((name) => `${folder}/${name}`);
    files.push(...(await changedSince(objects, names, since)));
  });
  await syncFiles(objects, files);
}

/**
 * Resolves to the paths that were made or changed since a time. Leaves out files that a clean-up removes meanwhile, having
 * packed their content, and files that may not be read: no commit of ours needs these.
 */
async function changedSince(top: string, paths: readonly string[], since: number): Promise<string[]> {
  const found: string[] = [];
  await forEachConcurrently(AT_ONCE, paths, async (path) => {
    const full = `${top}/${path}`;
    const changedAt = (await stat(full).catch(() => null))?.ctimeMs ?? 0;
    if (changedAt >= since && (await mayRead(full))) found.push(path);
  });
  return found;
}
