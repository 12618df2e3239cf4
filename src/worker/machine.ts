import { statfs } from 'node:fs/promises';
import { type CpuInfo, cpus, freemem, totalmem } from 'node:os';
import type { MachineFigures } from './report.ts';

/** How full the disk is on which an engine keeps its data. */
export interface DiskUsage {
  /** Bytes that users may have, and those that are free for them: what is reserved for root counts as neither, as in `df`. */
  total: number;
  free: number;
  /** Share of `total` that is used, from 0 to 1. */
  used: number;
  /** Share of all inodes that is free, from 0 to 1; 1 on file systems that do not count them. */
  freeInodes: number;
}

/**
 * Resolves to the usage of the disk that has the engine's folder. Where that path cannot be seen, as in the worker's own
 * container, it is that of `/`: a container's root is on the same one.
 */
export async function diskUsage(root: string): Promise<DiskUsage> {
  const { bsize, blocks, bfree, bavail, files, ffree } = await statfs(root).catch((error) => {
    if (!['ENOENT', 'ENOTDIR', 'EACCES'].includes((error as NodeJS.ErrnoException).code ?? '')) throw error;
    return statfs('/');
  });
  const total = blocks - bfree + bavail;
  return {
    total: total * bsize,
    free: bavail * bsize,
    used: total === 0 ? 0 : (blocks - bfree) / total,
    freeInodes: files === 0 ? 1 : ffree / files,
  };
}

/** Reads figures of the machine. The share of the processor is that since the last reading, at first since the start. */
export function createMachine(): { read(root: string): Promise<MachineFigures> } {
  let before = timesOf(cpus());
  return {
    read: async (root) => {
      const cores = cpus();
      const after = timesOf(cores);
      const [busy, all] = [after.busy - before.busy, after.all - before.all];
      before = after;
      const disk = await diskUsage(root).catch(() => null);
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
