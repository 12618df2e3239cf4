import { readdir } from 'node:fs/promises';
import { commands } from '../process/commands.ts';
import { createTransfers, type Transfers } from '../process/transfer.ts';
import type { Repository } from '../repository/repository.ts';
import { createDropper, type Dropper } from './dropper.ts';
import { removeFailedJoin } from './leftovers.ts';

/** The number of packs at which they are joined: each publish and each fetch adds one, and lookups search all. */
const MANY_PACKS = 50;
/** Milliseconds that one clean-up may take. */
const TIME_LIMIT = 600_000;
const LIMIT = { total: TIME_LIMIT, silence: TIME_LIMIT };
/** Milliseconds between two searches for unreachable objects, each of which walks the whole history. */
const DAY = 24 * 60 * 60_000;

/** Keeps the number of packs small, in the background. */
export interface Maintenance {
  /**
   * Runs work that makes or fetches objects and refers to them; nothing is dropped in the meantime. Then starts a
   * clean-up in the background, unless the work failed.
   */
  addingObjects<T>(work: () => Promise<T>): Promise<T>;
  /** Joins packs if there are many. Never rejects; concurrent calls share one clean-up. */
  run(): Promise<void>;
  /** Ends a running clean-up; half of one does no harm. */
  stop(): Promise<void>;
  /** Ends a running clean-up, and starts no more. */
  close(): Promise<void>;
}

/**
 * Joins packs of the mirror in a geometric series, so that the cost of a run depends on what is new, not on what is there.
 * Once a day, a run also drops what has been unreachable for a day: mostly versions of the record of ids, each of which
 * replaces the one before. `closeWriters` ends the processes that remember which objects exist, as `fast-import` does;
 * `now` is Unix milliseconds.
 */
export function createMaintenance(
  repository: Repository,
  closeWriters: () => Promise<void>,
  now: () => number = Date.now,
): Maintenance {
  // `git repack` has a helper do the work, which would outlive it. Ended by SIGTERM, it removes its temporary packs.
  const group = createTransfers(repository.context, { signal: 'SIGTERM' });
  const folder = `${repository.commonFolder}/objects/pack`;
  const dropper = createDropper({ command: commands.repackReached(), closeWriters }, folder, group, LIMIT);
  let running: Promise<void> | null = null;
  let droppedAt = 0;
  let stopping = new AbortController();

  const clean = async (): Promise<void> => {
    const { signal } = stopping;
    const names = await readdir(folder).catch((): string[] => []);
    if (joinable(names).length < MANY_PACKS) return;
    const isDropDue = Math.abs(now() - droppedAt) >= DAY;
    // A failed clean-up harms nothing, and the next one may work.
    const hasSucceeded = await joinPacks({ group, dropper }, isDropDue, signal).catch(() => false);
    if (hasSucceeded && isDropDue) droppedAt = now();
    if (!hasSucceeded && dropper.isIdle()) await removeFailedJoin(folder, names);
  };

  const run = (): Promise<void> => {
    if (stopping.signal.aborted) stopping = new AbortController();
    running ??= clean().finally(() => {
      running = null;
    });
    return running;
  };

  return {
    addingObjects: async (work) => {
      const made = await dropper.withoutDrops(work);
      void run();
      return made;
    },
    run,
    stop: async () => {
      stopping.abort();
      group.end();
      // This also cancels a drop that is about to start.
      await dropper.withoutDrops(async () => running);
    },
    close: async () => {
      stopping.abort();
      group.close();
      await running;
    },
  };
}

interface JoinTools {
  group: Transfers;
  dropper: Dropper;
}

/** Resolves to whether every attempted step succeeded. */
async function joinPacks(
  { group, dropper }: JoinTools,
  isDropDue: boolean,
  signal: AbortSignal,
): Promise<boolean> {
  const isDropped = isDropDue && (await dropper.run());
  if (signal.aborted) return false;
  // A due drop can fail: the search takes too long, or objects are being added. Packs are then joined.
  if (!isDropped) await group.run(commands.repack(), LIMIT);
  return isDropped === isDropDue;
}

/**
 * The packs that may be joined, by their names without an extension. A pack with `.keep` is in use or wanted, for example
 * by a `fast-import` that is running or has died; a pack with `.mtimes` is a cruft pack.
 */
function joinable(names: readonly string[]): string[] {
  const all = new Set(names);
  return names
    .filter((name) => name.endsWith('.pack'))
    .map((name) => name.slice(0, -'.pack'.length))
    .filter((name) => !all.has(`${name}.keep`) && !all.has(`${name}.mtimes`));
}
