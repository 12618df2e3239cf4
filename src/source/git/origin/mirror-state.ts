import { syncFolder } from '../../../disk/sync.ts';
import { HoldfastError, messageOf } from '../../../errors.ts';
import { commands, type ObjectFormat, trackingRef } from '../process/commands.ts';
import { GitFailure, runGit } from '../process/run.ts';
import { noSuchBranch } from '../repository/missing-branch.ts';
import { tipOf } from '../repository/refs.ts';
import type { Repository } from '../repository/repository.ts';
import { isUsable, type MirrorOptions, makeMirror, tidyMirror } from './mirror.ts';
import type { Origin, TransferLimits } from './origin.ts';
import { OriginUnavailable, OtherFormat } from './origin-errors.ts';

/** What the state of a mirror is made of. */
export interface MirrorStateParts {
  options: MirrorOptions;
  repository: Repository;
  /** Full name of the branch. */
  branch: string;
  origin: Origin;
  limits: TransferLimits;
  /** Ends the processes that work in the mirror; the next use starts them again. */
  letGo(): Promise<void>;
}

/** What is known of the mirror between two fetches. */
export interface MirrorState {
  /** Rejects as `unavailable` where origin was never reached: what was never fetched is not an empty branch. */
  requireReached(): Promise<void>;
  /** Whether this process has fetched yet. */
  isReached(): boolean;
  /** A failure to read may mean that the mirror is damaged: the next `look` checks that. */
  suspect(): void;
  /** Fetches into the mirror, within the usual time. */
  fetch(): Promise<void>;
  /**
   * The same with all the time that it takes: makes a new mirror first, where it is damaged, and has patience after a
   * fetch that was not done in time.
   */
  look(): Promise<void>;
}

export function createMirrorState(parts: MirrorStateParts): MirrorState {
  const { options, repository, branch, letGo } = parts;
  const folder = repository.gitFolder;
  let isReached = false;
  let isSuspect = false;
  let failure: unknown = null;
  let isUntidy = false;

  const hasTip = (): Promise<boolean> => hasRef(repository, trackingRef(branch));

  /** The processes that read from the old folder would go on doing so. */
  const remake = async (format?: ObjectFormat): Promise<void> => {
    await letGo();
    await makeMirror(folder, options, format);
    await letGo();
    isReached = false;
  };

  const fail = (error: unknown): never => {
    isSuspect ||= isDamage(error);
    failure = error;
    isUntidy = true;
    throw error;
  };

  const run = async (pace: keyof TransferLimits, isFirst: boolean): Promise<void> => {
    // What an ended fetch left is in the way of the next one; half a pack goes later, when it is surely nobody's.
    if (isUntidy) isUntidy = await tidyMirror(folder, trackingRef(branch));
    const others = await fetchInFormat(parts, pace, remake).catch(fail);
    const refusal = others === null ? null : missing(branch, others, isFirst);
    if (refusal !== null) fail(refusal);
    failure = null;
    isReached = true;
  };

  const look = async (): Promise<void> => {
    if (isSuspect && !(await isWhole(parts))) await remake();
    isSuspect = false;
    const isFirst = !(await hasTip());
    const pace = failure instanceof OriginUnavailable && failure.isLate ? 'patient' : 'usual';
    await run(isFirst ? 'first' : pace, isFirst);
  };

  return {
    look,
    isReached: () => isReached,
    fetch: async () => run('usual', !(await hasTip())),
    suspect: () => {
      isSuspect = true;
    },
    requireReached: async () => {
      if (isReached || (await hasTip())) return;
      const reason = failure === null ? 'origin has not been reached yet' : messageOf(failure);
      throw new HoldfastError('unavailable', reason);
    },
  };
}

/** Origin's format is not known before it was asked; a mirror of another one holds nothing of it, and is made again. */
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
    // git syncs what a pack holds, and not its name: one of many that a loss of power took away could be missing unnoticed.
    await syncFolder(`${repository.commonFolder}/objects/pack`).catch(() => undefined);
  }
}

/** Only an origin without any branch is one that nobody has written to: null. */
function missing(branch: string, others: readonly string[], isFirst: boolean): HoldfastError | null {
  return isFirst && others.length === 0 ? null : noSuchBranch('origin', branch, others, !isFirst);
}

async function hasRef(repository: Repository, ref: string): Promise<boolean> {
  return (await tipOf(repository, ref).catch(() => null)) !== null;
}

/** Whether nothing of the mirror is missing or damaged. */
export async function isWhole({
  options,
  repository,
  limits,
}: Pick<MirrorStateParts, 'options' | 'repository' | 'limits'>): Promise<boolean> {
  const context = { ...repository.context, timeLimit: limits.first.total };
  if (!(await isUsable(context, options.access.url))) return false;
  try {
    await runGit(context, commands.checkObjects());
    return true;
  } catch (error) {
    return error instanceof GitFailure && (error.exitCode === null || isComplaint(error));
  }
}

/** Exit codes of `git fsck` are bits; this one says that objects are missing. */
const UNREACHABLE = 2;

/** Whether git only dislikes what somebody has committed, which is the same at origin. */
function isComplaint({ exitCode, stderr }: GitFailure): boolean {
  const lines = stderr.split('\n').filter((line) => line !== '' && !line.startsWith('notice: '));
  const isAboutContent = lines.every((line) => /^(error|warning) in (commit|tree|blob|tag) /.test(line));
  return lines.length > 0 && isAboutContent && (Number(exitCode) & UNREACHABLE) === 0;
}

/** Whether git failed over something in the mirror rather than on the way to origin. */
function isDamage(error: unknown): boolean {
  const { cause } = error as { cause?: unknown };
  if (!(cause instanceof GitFailure)) return false;
  return DAMAGE.test(cause.stderr.replaceAll(/^remote: .*$/gm, ''));
}

const DAMAGE =
  /not a git repository|bad object|corrupt|loose object|packfile|pack has|missing (tree|blob|commit)|unable to (read|create|open)|did not send all necessary|index-pack|bad config|No such file/i;
