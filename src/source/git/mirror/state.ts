import { syncFolder } from '../../../disk/sync.ts';
import { HoldfastError, messageOf } from '../../../errors.ts';
import { OriginUnavailable, OtherFormat, unreachable } from '../origin/errors.ts';
import type { FollowedRefs, Origin, TransferLimits } from '../origin/origin.ts';
import { commands } from '../process/commands.ts';
import type { ObjectFormat } from '../process/object-ids.ts';
import { trackingRef } from '../process/ref-names.ts';
import { GitFailure, MAX_STDERR } from '../process/run.ts';
import { TransferEnded, type Transfers } from '../process/transfer.ts';
import { noSuchBranch } from '../refs/missing-branch.ts';
import { branchTip } from '../refs/tips.ts';
import type { Repository } from '../repository/repository.ts';
import { isUsable, type MirrorOptions, makeMirror, tidyMirror } from './mirror.ts';

/** What `createMirrorState` needs. */
export interface MirrorStateParts {
  options: MirrorOptions;
  repository: Repository;
  followed: FollowedRefs;
  origin: Origin;
  limits: TransferLimits;
  /** Checks of the mirror, which take long in a large one: they are ended when the manager stops. */
  checks: Pick<Transfers, 'run'>;
  /** Ends the processes that work in the mirror; the next use starts new ones. */
  endProcesses(): Promise<void>;
}

/** Fetches into the mirror, and remembers its condition from one fetch to the next. */
export interface MirrorState {
  /** Rejects as `unavailable` if origin was never reached: a mirror that was never filled is not an empty branch. */
  requireReached(): Promise<void>;
  /** Whether this process has fetched into this mirror yet. */
  isReached(): boolean;
  /** Marks the mirror as possibly damaged, after a failure to read it: the next `repairAndFetch` checks it. */
  suspect(): void;
  /** Fetches within the usual time limit. Rejects as `unavailable`. */
  fetch(): Promise<void>;
  /**
   * Makes a new mirror if the present one is damaged, and fetches. The first fetch has a longer time limit, and so has a
   * fetch after one that ran out of time. Rejects as `unavailable`.
   */
  repairAndFetch(): Promise<void>;
}

export function createMirrorState(parts: MirrorStateParts): MirrorState {
  const { options, repository, followed, endProcesses } = parts;
  const folder = repository.gitFolder;
  let isReached = false;
  let isSuspect = false;
  /** Why the last fetch failed; null if it succeeded. */
  let failure: unknown = null;

  const hasTip = (): Promise<boolean> => hasRef(repository, trackingRef(followed.branch));

  /** Processes are ended before and after, since they would go on reading from the old folder. */
  const remake = async (format?: ObjectFormat): Promise<void> => {
    await endProcesses();
    await makeMirror(folder, options, format);
    await endProcesses();
    isReached = false;
  };

  const fail = (error: unknown): never => {
    isSuspect ||= isDamage(error);
    failure = error;
    throw error;
  };

  const run = async (pace: keyof TransferLimits, isFirst: boolean): Promise<void> => {
    // Locks of a fetch that was killed block the next one. If a file cannot be removed, the fetch fails and reports it.
    if (failure !== null) await tidyMirror(folder).catch(() => undefined);
    const otherBranches = await fetchInFormat(parts, pace, remake).catch(fail);
    const refusal = otherBranches === null ? null : missingBranch(followed.branch, otherBranches, isFirst);
    if (refusal !== null) fail(refusal);
    failure = null;
    isReached = true;
  };

  const repairAndFetch = async (): Promise<void> => {
    if (isSuspect && !(await isWhole(parts))) await remake();
    isSuspect = false;
    const isFirst = !(await hasTip());
    const pace = failure instanceof OriginUnavailable && failure.isLate ? 'patient' : 'usual';
    await run(isFirst ? 'first' : pace, isFirst);
  };

  return {
    repairAndFetch,
    isReached: () => isReached,
    fetch: async () => run('usual', !(await hasTip())),
    suspect: () => {
      isSuspect = true;
    },
    requireReached: async () => {
      if (isReached || (await hasTip())) return;
      if (failure === null) throw new HoldfastError('unavailable', 'origin has not been reached yet');
      throw new HoldfastError('unavailable', messageOf(failure), {}, failure);
    },
  };
}

/**
 * Fetches, and first makes a new mirror if origin turns out to have another object format: nothing in the present one is
 * of origin then. Resolves as `Origin.fetch`.
 */
async function fetchInFormat(
  { origin, repository }: MirrorStateParts,
  pace: keyof TransferLimits,
  remake: (format: ObjectFormat) => Promise<void>,
): Promise<readonly string[] | null> {
  try {
    return await origin.fetch(pace);
  } catch (error) {
    if (!(error instanceof OtherFormat)) throw error;
    await remake(error.format);
    return await origin.fetch('first');
  } finally {
    // git syncs the content of a pack but not its name: after a loss of power, one of many packs could be missing unnoticed.
    await syncFolder(`${repository.commonFolder}/objects/pack`).catch(() => undefined);
  }
}

/** Returns the error for a branch that origin does not have; null if origin is new, without any branch. */
function missingBranch(
  branch: string,
  otherBranches: readonly string[],
  isFirst: boolean,
): HoldfastError | null {
  if (isFirst && otherBranches.length === 0) return null;
  return noSuchBranch('origin', branch, otherBranches, !isFirst);
}

async function hasRef(repository: Repository, ref: string): Promise<boolean> {
  return (await branchTip(repository, ref).catch(() => null)) !== null;
}

/**
 * Whether the mirror is usable and no object in it is missing or damaged. True also if git could not finish the check.
 * Rejects with an OriginUnavailable if the manager stops.
 */
export async function isWhole({
  options,
  repository,
  limits,
  checks,
}: Pick<MirrorStateParts, 'options' | 'repository' | 'limits' | 'checks'>): Promise<boolean> {
  const { total } = limits.first;
  const context = { ...repository.context, timeLimit: total };
  if (!(await isUsable(context, options.access.url))) return false;
  try {
    await checks.run(commands.checkObjects(), { total, silence: total });
    return true;
  } catch (error) {
    if (error instanceof TransferEnded) throw unreachable(error);
    return error instanceof GitFailure && (error.exitCode === null || isAboutContent(error));
  }
}

/** Exit codes of `git fsck` are bits; this one means that objects are missing. */
const UNREACHABLE = 2;

/**
 * Whether `git fsck` only objects to the content of objects that somebody has committed, which is the same at origin. If
 * it objects to thousands, the first line is the rest of one.
 */
function isAboutContent({ exitCode, stderr }: GitFailure): boolean {
  const all = stderr.split('\n').slice(stderr.length < MAX_STDERR ? 0 : 1);
  const lines = all.filter((line) => line !== '' && !line.startsWith('notice: '));
  const areObjections = lines.every((line) => /^(error|warning) in (commit|tree|blob|tag) /.test(line));
  return lines.length > 0 && areObjections && (Number(exitCode) & UNREACHABLE) === 0;
}

/** Whether git failed because of something in the mirror, rather than on the way to origin. */
function isDamage(error: unknown): boolean {
  const { cause } = error as { cause?: unknown };
  if (!(cause instanceof GitFailure)) return false;
  return DAMAGE.test(cause.stderr.replaceAll(/^remote: .*$/gm, ''));
}

const DAMAGE =
  /not a git repository|bad object|corrupt|loose object|packfile|pack has|missing (tree|blob|commit)|unable to (read|create|open)|did not send all necessary|index-pack|bad config|No such file/i;
