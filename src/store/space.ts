import { type StatsFs, statfsSync, statSync } from 'node:fs';
import { dirname } from 'node:path';
import { HoldfastError } from '../errors.ts';
import { type Database, prepare } from '../sqlite/connection.ts';

/** What waits until there is more room, with the share of the reserve that it leaves free. */
const USES = {
  reports: { share: 1, waits: 'reports are refused' },
  olderHistory: { share: 1, waits: 'the older history is not indexed' },
  newHistory: { share: 0.5, waits: 'the history is not indexed' },
};

/** Throws `unavailable` if this use must leave the rest of the disk to the configuration. */
export type CheckSpace = (use: keyof typeof USES) => void;

/** Reads how full the disk of a folder is; null where the file system does not say how large it is. */
export type ReadDisk = (folder: string) => Pick<StatsFs, 'blocks' | 'bavail' | 'bsize'> | null;

/** Bytes that stay free; on a small disk, a quarter of it. */
const RESERVE = 268_435_456;

/** The disk of the store, and the part of it that the store's file has; all in bytes. */
export interface Space {
  total: number;
  free: number;
  /** The space that the store's file has, but does not use. */
  unused: number;
  /** By how much the file will grow when its write-ahead log is copied into it. */
  growth: number;
}

/** Whether this share of the reserve is free. */
export function keepsReserve({ total, free, unused, growth }: Space, share: number): boolean {
  return free + unused - growth >= share * Math.min(RESERVE, total / 4);
}

/**
 * Returns a check of the disk of the store at `path`. Commits need space, and so does every change of the store, even a
 * deletion: without a reserve, whoever may send reports, or push commits, could end all changes of the fleet. A check takes microseconds.
 * `db` is the connection that makes all changes.
 */
export function createSpaceCheck(path: string, db: Database, read: ReadDisk = readDisk): CheckSpace {
  const pages = prepare<{ pages: number; unused: number; size: number }>(
    db,
    `SELECT page_count AS pages, freelist_count AS unused, page_size AS size
     FROM pragma_page_count, pragma_freelist_count, pragma_page_size`,
  );
  return (use) => {
    const disk = read(dirname(path));
    const { pages: all, unused, size } = pages.get() ?? { pages: 0, unused: 0, size: 0 };
    if (disk === null) return;
    const space: Space = {
      total: disk.blocks * disk.bsize,
      free: disk.bavail * disk.bsize,
      unused: unused * size,
      growth: Math.max(0, all * size - statSync(path).size),
    };
    const { share, waits } = USES[use];
    if (keepsReserve(space, share)) return;
    throw new HoldfastError(
      'unavailable',
      `${waits} until there is more free space on the disk of the store, so that changes of the fleet have room; make room there`,
    );
  };
}

function readDisk(folder: string): StatsFs | null {
  try {
    const disk = statfsSync(folder);
    return disk.blocks > 0 ? disk : null;
  } catch {
    return null;
  }
}
