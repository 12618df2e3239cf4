import { statfs } from 'node:fs/promises';
import { type CpuInfo, cpus, freemem, totalmem } from 'node:os';
import type { MachineFigures } from './report.ts';

/** How full a disk is. */
export interface DiskUsage {
  /** Bytes that a user may have, and those that are free for one. */
  total: number;
  free: number;
  /** Files that the disk can hold, and how many more; 0 and 0 if it has no such limit. */
  files: number;
  freeFiles: number;
}

/**
 * Resolves to how full a disk is: that of the first folder that exists here. The engine's folder does not exist inside a
 * container; there, `/` is on the engine's disk. Null if none can be read.
 */
export async function readDisk(folders: readonly string[]): Promise<DiskUsage | null> {
  for (const folder of folders) {
    try {
      const { bsize, blocks, bfree, bavail, files, ffree } = await statfs(folder);
      // What is reserved for root counts as neither, as in `df`.
      const used = (blocks - bfree) * bsize;
      const free = bavail * bsize;
      return { total: used + free, free, files, freeFiles: ffree };
    } catch {
      // The next folder may exist.
    }
  }
  return null;
}

/** Reads figures of the machine. The share of the processor is that since the last reading, at first since the start. */
export function createMachine(): { read(folders: readonly string[]): Promise<MachineFigures> } {
  let before = timesOf(cpus());
  return {
    read: async (folders) => {
      const cores = cpus();
      const after = timesOf(cores);
      const [busy, all] = [after.busy - before.busy, after.all - before.all];
      before = after;
      const disk = await readDisk(folders);
      return {
        // `freemem` is what Linux calls available: caches can be given up.
        memory: { total: totalmem(), available: freemem() },
        disk: disk === null ? null : { total: disk.total, free: disk.free },
        cpu: { cores: cores.length, usedPercent: all <= 0 ? 0 : (100 * busy) / all },
      };
    },
  };
}

function timesOf(cores: readonly CpuInfo[]): { busy: number; all: number } {
  let [busy, all] = [0, 0];
  for (const { times } of cores) {
    const active = times.user + times.nice + times.sys + times.irq;
    busy += active;
    all += active + times.idle;
  }
  return { busy, all };
}
