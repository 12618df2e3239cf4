import { readdir, stat } from 'node:fs/promises';
import { messageOf } from '../../../errors.ts';
import { commands } from '../process/commands.ts';
import { askGit } from '../process/run.ts';
import { createTransfers, type Transfers } from '../process/transfer.ts';
import { createDropping, type Drop, type Dropping } from './dropping.ts';
import { clearFailedJoin } from './leftovers.ts';
import type { Repository } from './repository.ts';

/** Every publish and every fetch leaves a pack, and look-ups search all of them. */
const MANY_PACKS = 50;
/** Milliseconds for one clean-up. */
const TIME_LIMIT = 600_000;
const LIMIT = { total: TIME_LIMIT, silence: TIME_LIMIT };
/** Milliseconds between two searches for unreachable objects: each walks over everything. */
const DAY = 24 * 60 * 60_000;
/** Bytes of a pack's index that list no object. */
const EMPTY_INDEX = 1072;

/**
 * git cannot join the packs of such a clone one by one, and joining all of them could lose what marks them as partial.
 */
const PARTIAL = 'packs of a partial clone are not consolidated; run `git gc` there from time to time';

/** Keeps the number of packs small, in the background. */
export interface Maintenance {
  /**
   * Does work that makes or fetches objects and refers to them: nothing is dropped meanwhile. Runs afterwards, unless
   * the work failed.
   */
  adding<T>(work: () => Promise<T>): Promise<T>;
  /** Joins packs when there are many. Never rejects; one runs at a time. */
  run(): Promise<void>;
  /** Ends a clean-up that is under way: half of one does no harm. */
  stop(): Promise<void>;
  /** The same, and begins no more. */
  close(): Promise<void>;
}

/**
 * Packs are joined in a geometric series, so that a run costs what is new and not what is there. When that joins all
 * of them, it is time to drop what has been unreachable for long, as `drop` does: mostly versions of the record of ids,
 * each of which replaces the one before. `git gc` would hardly ever find them old enough, since it takes the age of a
 * pack, and each join makes a new one. `onPacksLeft` is told why packs are not joined, once until there are few again,
 * and null then.
 */
export function createMaintenance(
  repository: Repository,
  drop: Drop,
  onPacksLeft: (reason: string | null) => void = () => undefined,
): Maintenance {
  // git has a helper do the work, which would go on alone. Asked to end, it removes what has got its name.
  const group = createTransfers(repository.context, 'SIGTERM');
  const folder = `${repository.commonFolder}/objects/pack`;
  const { tell, tellFew } = tellOnce(onPacksLeft);
  const dropping = createDropping(drop, folder, group, LIMIT);
  let running: Promise<void> | null = null;
  let stopping = new AbortController();

  /** Resolves to whether all went well. */
  const join = async (names: readonly string[], signal: AbortSignal): Promise<boolean> => {
    try {
      const isDue = await isToDrop(repository, folder, names);
      const isDone = await joinPacks({ repository, group, dropping }, isDue, signal);
      if (!signal.aborted) tellFew();
      return isDone;
    } catch (error) {
      // A failed clean-up harms nothing, and the next one may work.
      if (!signal.aborted) tell(messageOf(error));
      return false;
    }
  };

  const clean = async (): Promise<void> => {
    const { signal } = stopping;
    const names = await readdir(folder).catch((): string[] => []);
    if (joinable(names).length < MANY_PACKS) return tellFew();
    if (names.some((name) => name.endsWith('.promisor'))) return tell(PARTIAL);
    // Beside one that did not fail, new halves are those of somebody else, who may be out of sight.
    if (!(await join(names, signal))) await clearFailedJoin(repository, names, signal);
  };

  const run = (): Promise<void> => {
    if (stopping.signal.aborted) stopping = new AbortController();
    running ??= clean().finally(() => {
      running = null;
    });
    return running;
  };

  return {
    adding: async (work) => {
      const made = await dropping.keepingAll(work);
      void run();
      return made;
    },
    run,
    stop: async () => {
      stopping.abort();
      group.end();
      // A drop that is about to begin must not either.
      await dropping.keepingAll(async () => running);
    },
    close: async () => {
      stopping.abort();
      group.close();
      await running;
    },
  };
}

interface Joining {
  repository: Repository;
  group: Transfers;
  dropping: Dropping;
}

/** Resolves to whether all that was tried came to something. */
async function joinPacks(
  { repository, group, dropping }: Joining,
  isDue: boolean,
  signal: AbortSignal,
): Promise<boolean> {
  const isDropped = isDue && (await dropping.run());
  if (signal.aborted) return false;
  // An older git cannot do it, there is too much to look at, or somebody is at work: then all stays.
  if (!isDropped) await group.run(commands.repack(), LIMIT);
  else if (await hasCommitGraph(repository)) await group.run(commands.writeCommitGraph(), LIMIT);
  return isDropped === isDue;
}

/** Tells a reason once, until there is none. */
function tellOnce(onPacksLeft: (reason: string | null) => void) {
  let isTold = false;
  return {
    tell: (reason: string): void => {
      if (!isTold) onPacksLeft(reason);
      isTold = true;
    },
    tellFew: (): void => {
      if (isTold) onPacksLeft(null);
      isTold = false;
    },
  };
}

/**
 * Packs that may be joined, by their names without an ending. One with a `.keep` is somebody's, for instance of a
 * `fast-import` that runs or has died; one with `.mtimes` is a cruft pack.
 */
function joinable(names: readonly string[]): string[] {
  const all = new Set(names);
  return names
    .filter((name) => name.endsWith('.pack'))
    .map((name) => name.slice(0, -'.pack'.length))
    .filter((name) => !all.has(`${name}.keep`) && !all.has(`${name}.mtimes`));
}

/** Whether it is time to drop unreachable objects. */
async function isToDrop(repository: Repository, folder: string, names: readonly string[]): Promise<boolean> {
  const isDue = (await isAllJoined(folder, joinable(names))) && !(await wasDoneToday(folder, names));
  return isDue && !(await isSettled(repository));
}

/** Whether a geometric series leaves no pack as it is: the largest has less than twice as many objects as all others. */
async function isAllJoined(folder: string, packs: readonly string[]): Promise<boolean> {
  const files = await Promise.all(packs.map((name) => stat(`${folder}/${name}.idx`).catch(() => null)));
  const sizes = files.map((file) => Math.max(0, (file?.size ?? 0) - EMPTY_INDEX));
  const largest = Math.max(...sizes);
  return largest < 2 * (sizes.reduce((sum, size) => sum + size, 0) - largest);
}

/** The last search left a cruft pack with its `.mtimes`. One of tomorrow was made before the clock was set back. */
async function wasDoneToday(folder: string, names: readonly string[]): Promise<boolean> {
  const lists = names.filter((name) => name.endsWith('.mtimes'));
  const found = await Promise.all(lists.map((name) => stat(`${folder}/${name}`).catch(() => null)));
  return found.some((file) => file !== null && Math.abs(Date.now() - file.mtimeMs) < DAY);
}

/** Whether there is a commit-graph, as `git gc` writes it: `fsck` complains of one that names dropped commits. */
async function hasCommitGraph({ commonFolder }: Repository): Promise<boolean> {
  const names = await readdir(`${commonFolder}/objects/info`).catch((): string[] => []);
  return names.some((name) => name.startsWith('commit-graph'));
}

/**
 * Whether the repository's own settings say when it is cleaned up: then its people do that. Grafts, which git is not
 * told of here, reach more.
 */
async function isSettled({ context, commonFolder }: Repository): Promise<boolean> {
  if ((await stat(`${commonFolder}/info/grafts`).catch(() => null)) !== null) return true;
  try {
    const lines = (await askGit(context, commands.cleanUpSettings()))?.split('\n') ?? [];
    return lines.some((line) => /^(local|worktree)\t(gc\.(auto|pruneexpire)|maintenance\.auto)$/.test(line));
  } catch {
    return true;
  }
}
