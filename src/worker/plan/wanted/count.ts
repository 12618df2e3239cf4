import type { App } from '../../../protocol/app.ts';

const MIB = 1_048_576;

/** What a machine has. */
export interface Machine {
  cores: number;
  /** Bytes. */
  memory: number;
}

/**
 * Returns how many containers of an app a machine runs, as Nebula's workers count: of several keys the last one wins;
 * `cpu` is per core, `memory` and `mem` one per that many MiB. It can be 0.
 */
export function containerCount(per: App['containers_per'], { cores, memory }: Machine): number {
  const [key, value = 1] = Object.entries(per).findLast(([, count]) => count !== undefined) ?? ['server'];
  if (key === 'cpu') return Math.floor(cores * value);
  if (key === 'memory' || key === 'mem') return Math.floor(memory / MIB / value);
  return value;
}
