import { readdir } from 'node:fs/promises';
import { messageOf } from '../../../errors.ts';
import { commands } from '../process/commands.ts';
import { createTransfers } from '../process/transfer.ts';
import type { Repository } from './repository.ts';

/** Every publish and every fetch leaves a pack; look-ups go through all of them. */
const MANY_PACKS = 50;
/** Milliseconds for one clean-up. */
const TIME_LIMIT = 600_000;

/** git cannot join the packs of such a clone one by one, and joining all of them could lose what marks them as partial. */
const PARTIAL = 'this is a partial clone, whose packs are not joined; run `git gc` there from time to time';

/** Keeps the number of packs small, in the background. */
export interface Maintenance {
  /** Looks how many packs there are, and joins them when there are many. Never rejects; one runs at a time. */
  run(): Promise<void>;
  /** Ends a clean-up that is under way: half of one does no harm. */
  stop(): Promise<void>;
  /** The same, and begins no more. */
  close(): Promise<void>;
}

/**
 * Packs are joined in a geometric series, so that a clean-up costs what is new and not what is there. Nothing that
 * a repository holds is dropped. `onPacksLeft` is told why packs are not joined, once until there are few again, and null then.
 */
export function createMaintenance(
  { context, commonFolder }: Repository,
  onPacksLeft: (reason: string | null) => void = () => undefined,
): Maintenance {
  // git has a helper do the work, which would go on alone. Asked to end, it removes what it has begun.
  const group = createTransfers(context, 'SIGTERM');
  let running: Promise<void> | null = null;
  let isTold = false;
  let isStopped = false;

  const tell = (reason: string): void => {
    if (!isTold && !isStopped) onPacksLeft(reason);
    isTold = true;
  };

  const tellFew = (): void => {
    if (isTold) onPacksLeft(null);
    isTold = false;
  };

  const clean = async (): Promise<void> => {
    const names = await readdir(`${commonFolder}/objects/pack`).catch((): string[] => []);
    if (countPacks(names) < MANY_PACKS) return tellFew();
    if (names.some((name) => name.endsWith('.promisor'))) return tell(PARTIAL);
    try {
      await group.run(commands.repack(), { total: TIME_LIMIT, silence: TIME_LIMIT });
      tellFew();
    } catch (error) {
      // A failed clean-up harms nothing, and the next one may work.
      tell(messageOf(error));
    }
  };

  return {
    run: () => {
      isStopped = false;
      running ??= clean().finally(() => {
        running = null;
      });
      return running;
    },
    stop: async () => {
      isStopped = true;
      group.end();
      await running;
    },
    close: async () => {
      isStopped = true;
      group.close();
      await running;
    },
  };
}

/** Packs that may be joined: one with a `.keep` is somebody's, for instance of a `fast-import` that runs or has died. */
function countPacks(names: readonly string[]): number {
  const all = new Set(names);
  return names.filter((name) => name.endsWith('.pack') && !all.has(name.replace(/pack$/, 'keep'))).length;
}
