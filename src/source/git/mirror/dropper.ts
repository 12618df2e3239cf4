import { readdir } from 'node:fs/promises';
import type { GitCommand } from '../process/commands.ts';
import type { TransferLimit, Transfers } from '../process/transfer.ts';

/** How to drop unreachable objects. */
export interface Drop {
  command: GitCommand;
  /** Ends the processes of this manager that remember which objects exist, as `fast-import` does. */
  closeWriters(): Promise<void>;
}

/** Drops unreachable objects, but never while work is running that may refer to them. */
export interface Dropper {
  /**
   * Drops unreachable objects, and resolves to whether it did: not while this or another process adds objects, nor if
   * git fails.
   */
  run(): Promise<boolean>;
  /**
   * Runs work that makes or fetches objects and refers to them. Ends a running drop first, and lets none start until
   * the work is done: `fast-import` and `fetch` rely on objects that already exist, and do not renew their age.
   */
  withoutDrops<T>(work: () => Promise<T>): Promise<T>;
  /** Whether no such work is running. */
  isIdle(): boolean;
}

export function createDropper(
  { command, closeWriters }: Drop,
  packFolder: string,
  group: Pick<Transfers, 'run' | 'end'>,
  limit: TransferLimit,
): Dropper {
  let startedCount = 0;
  let runningCount = 0;
  let currentDrop: Promise<boolean> | null = null;
  return {
    isIdle: () => runningCount === 0,
    run: async () => {
      if (runningCount > 0) return false;
      const startedBefore = startedCount;
      await closeWriters();
      if (await hasKeptPacks(packFolder)) return false;
      if (startedCount !== startedBefore) return false;
      currentDrop = group.run(command, limit).then(
        () => true,
        () => false,
      );
      try {
        return await currentDrop;
      } finally {
        currentDrop = null;
      }
    },
    withoutDrops: async (work) => {
      startedCount += 1;
      runningCount += 1;
      try {
        if (currentDrop !== null) {
          group.end();
          await currentDrop;
        }
        return await work();
      } finally {
        runningCount -= 1;
      }
    },
  };
}

/** Whether another process, such as a second manager, runs `fast-import` or a fetch here: both mark packs as kept. */
async function hasKeptPacks(packFolder: string): Promise<boolean> {
  const names = await readdir(packFolder).catch((): string[] => []);
  return names.some((name) => name.endsWith('.keep'));
}
