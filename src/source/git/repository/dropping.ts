import { readdir } from 'node:fs/promises';
import type { GitCommand } from '../process/commands.ts';
import type { TransferLimit, Transfers } from '../process/transfer.ts';

/** How unreachable objects are dropped. */
export interface Drop {
  command: GitCommand;
  /** Ends the processes of this manager that remember which objects exist, as `fast-import` does. */
  forget(): Promise<void>;
}

/** Drops unreachable objects, and never while work is under way that may refer to them. */
export interface Dropping {
  /**
   * Resolves to whether it was done. Not while others are at work here, nor where git cannot do it; never rejects for
   * that.
   */
  run(): Promise<boolean>;
  /**
   * Does work that makes or fetches objects and refers to them: a drop that is under way is ended first, and none begins
   * meanwhile. `fast-import` and `fetch` rely on an object that exists already, and do not renew its time.
   */
  keepingAll<T>(work: () => Promise<T>): Promise<T>;
}

export function createDropping(
  { command, forget }: Drop,
  packFolder: string,
  group: Pick<Transfers, 'run' | 'end'>,
  limit: TransferLimit,
): Dropping {
  let begun = 0;
  let atWork = 0;
  let underWay: Promise<boolean> | null = null;
  return {
    run: async () => {
      if (atWork > 0) return false;
      const before = begun;
      await forget();
      if (await isInUse(packFolder)) return false;
      if (begun !== before) return false;
      underWay = group.run(command, limit).then(
        () => true,
        () => false,
      );
      try {
        return await underWay;
      } finally {
        underWay = null;
      }
    },
    keepingAll: async (work) => {
      begun += 1;
      atWork += 1;
      try {
        if (underWay !== null) {
          group.end();
          await underWay;
        }
        return await work();
      } finally {
        atWork -= 1;
      }
    },
  };
}

/** Whether a `fast-import` or a fetch of somebody else is at work, perhaps of a second manager in this repository. */
async function isInUse(packFolder: string): Promise<boolean> {
  const names = await readdir(packFolder).catch((): string[] => []);
  return names.some((name) => name.endsWith('.keep'));
}
