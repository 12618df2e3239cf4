import { readdir, stat } from 'node:fs/promises';
import { messageOf } from '../../../errors.ts';
import { commands } from '../process/commands.ts';
import { askGit } from '../process/run.ts';
import { createTransfers, type Transfers } from '../process/transfer.ts';
import { createDropper, type Drop, type Dropper } from './dropper.ts';
import { removeFailedJoin } from './leftovers.ts';
import type { Repository } from './repository.ts';

/** The number of packs at which they are joined: each publish and each fetch adds one, and lookups search all. */
const MANY_PACKS = 50;
/** Milliseconds that one clean-up may take. */
const TIME_LIMIT = 600_000;
const LIMIT = { total: TIME_LIMIT, silence: TIME_LIMIT };
/** Milliseconds between two searches for unreachable objects, each of which walks the whole history. */
const DAY = 24 * 60 * 60_000;
/** Size of the index of a pack without objects, in bytes. */
const EMPTY_INDEX = 1072;

/**
 * git cannot join only some packs of a partial clone, and joining all of them could lose the files that mark it as
 * partial.
 */
const PARTIAL = 'packs of a partial clone are not consolidated; run `git gc` there from time to time';

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
 * Joins packs in a geometric series, so that the cost of a run depends on what is new, not on what is there. A run that
 * would join all packs is also the time to drop, by `drop`, what has long been unreachable: mostly versions of the record
 * of ids, each of which replaces the one before. `git gc` would hardly ever find them old enough: it takes the age of a
 * pack for that of its objects, and each join makes a new pack. `onJoinSkipped` is called once with the reason why packs
 * are not joined, and with null once there are few again.
 */
export function createMaintenance(
  repository: Repository,
  drop: Drop,
  onJoinSkipped: (reason: string | null) => void = () => undefined,
): Maintenance {
  // `git repack` has a helper do the work, which would outlive it. Ended by SIGTERM, it removes its temporary packs.
  const group = createTransfers(repository.context, 'SIGTERM');
  const folder = `${repository.commonFolder}/objects/pack`;
  const { reportReason, reportFew } = reportOnce(onJoinSkipped);
  const dropper = createDropper(drop, folder, group, LIMIT);
  let running: Promise<void> | null = null;
  let stopping = new AbortController();

  /** Resolves to whether everything succeeded. */
  const join = async (names: readonly string[], signal: AbortSignal): Promise<boolean> => {
    try {
      const isDropDue = await shouldDrop(repository, folder, names);
      const hasSucceeded = await joinPacks({ repository, group, dropper }, isDropDue, signal);
      if (!signal.aborted) reportFew();
      return hasSucceeded;
    } catch (error) {
      // A failed clean-up harms nothing, and the next one may work.
      if (!signal.aborted) reportReason(messageOf(error));
      return false;
    }
  };

  const clean = async (): Promise<void> => {
    const { signal } = stopping;
    const names = await readdir(folder).catch((): string[] => []);
    if (joinable(names).length < MANY_PACKS) return reportFew();
    if (names.some((name) => name.endsWith('.promisor'))) return reportReason(PARTIAL);
    // After a success, new unfinished packs belong to another process, which can be invisible here.
    if (await join(names, signal)) return;
    // What cannot be removed now, as when no file can be opened, stays until the next start.
    await removeFailedJoin(repository, names, signal).catch(() => undefined);
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
  repository: Repository;
  group: Transfers;
  dropper: Dropper;
}

/** Resolves to whether every attempted step succeeded. */
async function joinPacks(
  { repository, group, dropper }: JoinTools,
  isDropDue: boolean,
  signal: AbortSignal,
): Promise<boolean> {
  const isDropped = isDropDue && (await dropper.run());
  if (signal.aborted) return false;
  // A due drop can fail: git is too old, the search takes too long, or objects are being added. Packs are then joined.
  if (!isDropped) await group.run(commands.repack(), LIMIT);
  else if (await hasCommitGraph(repository)) await group.run(commands.writeCommitGraph(), LIMIT);
  return isDropped === isDropDue;
}

/** Reports a reason only once, until there are few packs again. */
function reportOnce(onJoinSkipped: (reason: string | null) => void) {
  let isReported = false;
  return {
    reportReason: (reason: string): void => {
      if (!isReported) onJoinSkipped(reason);
      isReported = true;
    },
    reportFew: (): void => {
      if (isReported) onJoinSkipped(null);
      isReported = false;
    },
  };
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

/** Whether it is time to drop unreachable objects. */
async function shouldDrop(
  repository: Repository,
  folder: string,
  names: readonly string[],
): Promise<boolean> {
  const isDue = (await wouldJoinAll(folder, joinable(names))) && !(await wasDoneToday(folder, names));
  return isDue && !(await isLeftToUsers(repository));
}

/** Whether a geometric join would take all packs: the largest has less than twice as many objects as all others. */
async function wouldJoinAll(folder: string, packs: readonly string[]): Promise<boolean> {
  const files = await Promise.all(packs.map((name) => stat(`${folder}/${name}.idx`).catch(() => null)));
  const sizes = files.map((file) => Math.max(0, (file?.size ?? 0) - EMPTY_INDEX));
  const largest = Math.max(...sizes);
  return largest < 2 * (sizes.reduce((sum, size) => sum + size, 0) - largest);
}

/**
 * Whether the last search was less than a day ago: it left a cruft pack with its `.mtimes`. A time far in the future is
 * from before the clock was set back, and does not count.
 */
async function wasDoneToday(folder: string, names: readonly string[]): Promise<boolean> {
  const lists = names.filter((name) => name.endsWith('.mtimes'));
  const found = await Promise.all(lists.map((name) => stat(`${folder}/${name}`).catch(() => null)));
  return found.some((file) => file !== null && Math.abs(Date.now() - file.mtimeMs) < DAY);
}

/** Whether there is a commit-graph, as `git gc` writes: `fsck` reports errors if it names dropped commits. */
async function hasCommitGraph({ commonFolder }: Repository): Promise<boolean> {
  const names = await readdir(`${commonFolder}/objects/info`).catch((): string[] => []);
  return names.some((name) => name.startsWith('commit-graph'));
}

/**
 * Whether cleaning up is left to the users of the repository, because its own settings say when it happens, or because
 * it has grafts: git does not see them here, and more is reachable through them.
 */
async function isLeftToUsers({ context, commonFolder }: Repository): Promise<boolean> {
  if ((await stat(`${commonFolder}/info/grafts`).catch(() => null)) !== null) return true;
  try {
    const lines = (await askGit(context, commands.cleanUpSettings()))?.split('\n') ?? [];
    return lines.some((line) => /^(local|worktree)\t(gc\.(auto|pruneexpire)|maintenance\.auto)$/.test(line));
  } catch {
    return true;
  }
}
