import { type StatsFs, statfsSync, statSync } from 'node:fs';
import { dirname } from 'node:path';
import { HoldfastError } from '../../errors.ts';
import { type Database, prepare } from './connection.ts';

/** Throws `unavailable` if reports must leave the rest of the disk to the configuration. */
export type CheckSpace = () => void;

/** Bytes that reports leave free; on a small disk, a quarter of it. */
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

/** Whether there is room for reports beside everything else. */
export function hasRoomForReports({ total, free, unused, growth }: Space): boolean {
  return free + unused - growth >= Math.min(RESERVE, total / 4);
}

/**
 * Returns a check of the disk of the store at `path`. Commits need space, and so does every change of the store, even a
 * deletion: without a reserve, whoever may send reports could end all changes of the fleet. A check takes microseconds.
 * `db` is the connection that makes all changes.
 */
export function createSpaceCheck(path: string, db: Database): CheckSpace {
  const pages = prepare<{ pages: number; unused: number; size: number }>(
    db,
    `SELECT page_count AS pages, freelist_count AS unused, page_size AS size
     FROM pragma_page_count, pragma_freelist_count, pragma_page_size`,
  );
  return () => {
    const disk = readDisk(dirname(path));
    const { pages: all, unused, size } = pages.get() ?? { pages: 0, unused: 0, size: 0 };
    if (disk === null) return;
    const space: Space = {
      total: disk.blocks * disk.bsize,
      free: disk.bavail * disk.bsize,
      unused: unused * size,
      growth: Math.max(0, all * size - statSync(path).size),
    };
    if (hasRoomForReports(space)) return;
    throw new HoldfastError(
      'unavailable',
      'reports are refused until there is more free space on the disk of the store, so that changes of the fleet have room; make room there',
    );
  };
}

/** Returns null where the file system does not say how large it is. */
function readDisk(folder: string): StatsFs | null {
  try {
    const disk = statfsSync(folder);
    return disk.blocks > 0 ? disk : null;
  } catch {
    return null;
  }
}
