import { stat as statCallback } from 'node:fs';
import { readdir } from 'node:fs/promises';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { inLanes } from '../../../async/lanes.ts';
import { syncFiles } from '../../../disk/sync.ts';
import { mayRead } from '../../../disk/there.ts';
import type { Repository } from '../repository/repository.ts';

/** Milliseconds after which any system has written by itself what nobody synced; most do so within one minute. */
const WRITTEN_BY_ITSELF = 3_600_000;
/** Times of files lag behind the clock by some milliseconds. */
const LAG = 1000;
/** Folders that hold objects, and packs. */
const OBJECTS = /^([0-9a-f]{2}|pack)$/;
/** Folders and files that are looked at together: all the folders, which takes a third of the time of 16. */
const AT_ONCE = 257;

/** That of `node:fs/promises` costs devices twice the time in which nothing else is done. */
const stat = promisify(statCallback);

/** Sees to it that a commit of ours does not outlive a loss of power alone, without the commits below it. */
export interface BaseOnDisk {
  /** Resolves when what the commit below needs is on the disk; at once where the commit is one of ours. */
  sync(base: string | null): Promise<void>;
  /** Says that a commit of ours, with all that it needs, is on the disk. */
  know(commit: string): void;
}

/** A person's git syncs neither loose objects nor any name, unless somebody has told it to. */
export function createBaseOnDisk({ commonFolder }: Pick<Repository, 'commonFolder'>): BaseOnDisk {
  let known: string | null = null;
  let syncedAt = 0;
  return {
    sync: async (base) => {
      if (base === null || base === known) return;
      const now = Date.now();
      // A clock that was set back says nothing of what came since.
      const before = syncedAt > now ? 0 : syncedAt;
      await syncNewObjects(join(commonFolder, 'objects'), Math.max(before - LAG, now - WRITTEN_BY_ITSELF));
      syncedAt = now;
    },
    know: (commit) => {
      known = commit;
    },
  };
}

/**
 * Every object that is newer (Unix milliseconds), not those of one commit: to ask git for these takes longer than to
 * look at 257 folders.
 */
async function syncNewObjects(objects: string, since: number): Promise<void> {
  const folders = (await readdir(objects)).filter((name) => OBJECTS.test(name));
  const files: string[] = [];
  await inLanes(AT_ONCE, await newOnes(objects, folders, since), async (folder) => {
    const names = (await readdir(join(objects, folder)).catch(() => [])).map((name) => `${folder}/${name}`);
    files.push(...(await newOnes(objects, names, since)));
  });
  await syncFiles(objects, files);
}

/**
 * Those of the paths that came to be, or got another entry, not long ago. Without those that a clean-up takes away
 * meanwhile, having packed what was in them, and those that may not be read: of these a commit of ours needs none.
 */
async function newOnes(top: string, paths: readonly string[], since: number): Promise<string[]> {
  const found: string[] = [];
  await inLanes(AT_ONCE, paths, async (path) => {
    const full = `${top}/${path}`;
    const changed = (await stat(full).catch(() => null))?.ctimeMs ?? 0;
    if (changed >= since && (await mayRead(full))) found.push(path);
  });
  return found;
}
