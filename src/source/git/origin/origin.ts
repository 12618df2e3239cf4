import { HoldfastError, isShutdownError, kindOf } from '../../../errors.ts';
import { commands } from '../process/commands.ts';
import type { ObjectFormat } from '../process/object-ids.ts';
import { NO_BRANCH } from '../process/ref-names.ts';
import type { Limit } from '../process/run.ts';
import { GitFailure, redact, stderrOf } from '../process/run.ts';
import type { Transfers } from '../process/transfer.ts';
import { shortName } from '../refs/tips.ts';
import {
  MISMATCHED,
  NO_SERVER,
  OriginLocked,
  OriginUnavailable,
  OtherFormat,
  unreachable,
} from './errors.ts';

/** Time limits of transfers. */
export interface TransferLimits {
  /** For the first fetch, which brings the whole history. */
  first: Limit;
  /** For a fetch after one that ran out of time: it may take as long as something arrives. */
  patient: Limit;
  /** For all others. */
  usual: Limit;
}

/**
 * The result of a push. `done`: origin has moved the ref. Otherwise the ref is not at the expected commit: `stale` if that
 * showed before anything was sent, `moved` if it showed when origin tried to move the ref. `reason` is origin's, for
 * users.
 */
export interface PushOutcome {
  kind: 'done' | 'stale' | 'moved';
  reason: string;
  /** git's failure. */
  cause?: unknown;
}

/** A remote repository, as seen from the mirror. */
export interface Origin {
  /**
   * Fetches the branch and the record of ids into the mirror, and resolves to null. If origin responds but does not have the
   * branch, fetches the record only, and resolves to the full names of the branches that it has.
   * Rejects with an OriginUnavailable, whose message says what to check, or with an OtherFormat if the mirror must be made
   * again in that format.
   */
  fetch(pace: keyof TransferLimits): Promise<readonly string[] | null>;
  /**
   * Moves a ref from one commit to another (`from` is null for a ref that must not exist yet); does nothing if the ref is
   * elsewhere. Rejects as `conflict` if origin refuses the change, with an OriginUnavailable if it cannot be reached.
   */
  push(ref: string, from: string | null, to: string): Promise<PushOutcome>;
}

/** The refs of origin that are fetched, by their full names. */
export interface FollowedRefs {
  branch: string;
  record: string;
}

/** `pushes` is for what is pushed, if that is in another repository than what is fetched. */
export function createOrigin(
  transfers: Transfers,
  { branch, record }: FollowedRefs,
  limits: TransferLimits,
  pushes = transfers,
): Origin {
  return {
    fetch: async (pace) => {
      const showsProgress = pace !== 'usual';
      try {
        await transfers.run(commands.fetch(branch, record, showsProgress), limits[pace]);
        return null;
      } catch (error) {
        if (!isWithoutBranch(error)) return rejectFetch(transfers, error, limits.usual);
      }
      return fetchRecord(transfers, record, pace, limits);
    },
    push: (...move) => pushRef(pushes, limits.usual, ...move),
  };
}

/** `Origin.push`. */
export async function pushRef(
  transfers: Transfers,
  limit: Limit,
  ...[ref, from, to]: Parameters<Origin['push']>
): Promise<PushOutcome> {
  try {
    await transfers.run(commands.push(ref, from, to), limit);
    return { kind: 'done', reason: '' };
  } catch (error) {
    return pushFailure(error);
  }
}

/** Fetches from an origin that does not have the branch. Resolves to the branches that it has. */
async function fetchRecord(
  transfers: Transfers,
  record: string,
  pace: keyof TransferLimits,
  limits: TransferLimits,
): Promise<string[]> {
  const { branches, format } = await branchesOf(transfers, limits.usual);
  try {
    // Without any branch, git compares no formats; and the first commit must be made in origin's format.
    if (pace === 'first' && branches.length === 0) await requireFormat(transfers, format, limits.usual);
    await transfers.run(commands.fetchRecord(record, pace !== 'usual'), limits[pace]);
    return branches;
  } catch (error) {
    if (error instanceof OtherFormat) throw error;
    return rejectFetch(transfers, error, limits.usual);
  }
}

async function requireFormat(transfers: Transfers, format: ObjectFormat, limit: Limit): Promise<void> {
  if ((await ownFormat(transfers, limit)) !== format) throw new OtherFormat(format, null);
}

/**
 * Rejects with the reason why a fetch failed: an OtherFormat if git complains about formats and the mirror's is not
 * origin's. That is checked, since a mirror that is made again loses what origin may not have. If git does not name
 * origin's format, it is the other one of the two that exist.
 */
async function rejectFetch(transfers: Transfers, error: unknown, limit: Limit): Promise<never> {
  const failure = unreachable(error);
  const mismatch = MISMATCHED.exec(stderrOf(error));
  if (mismatch === null) throw failure;
  const own = await ownFormat(transfers, limit).catch(() => null);
  if (own === null) throw failure;
  const format = (mismatch[1] ?? (own === 'sha1' ? 'sha256' : 'sha1')) as ObjectFormat;
  throw format === own ? failure : new OtherFormat(format, error);
}

async function ownFormat(transfers: Transfers, limit: Limit): Promise<string> {
  return (await transfers.run(commands.objectFormat(), limit)).trim();
}

/**
 * Lists the branches of origin. Rejects if the server is not a git server: to git, a web page without refs looks like a
 * repository without branches that is served as plain files.
 */
async function branchesOf(
  transfers: Transfers,
  limit: Limit,
): Promise<{ branches: string[]; format: ObjectFormat }> {
  const { out, isGit, format } = await transfers.ask(commands.originBranches(), limit).catch((error) => {
    throw unreachable(error);
  });
  const branches = out.split('\n').flatMap((line) => line.split('\t')[1] ?? []);
  if (branches.length > 0 || isGit) return { branches, format };
  throw new OriginUnavailable(NO_SERVER, { isSent: false, isLate: false }, null);
}

function isWithoutBranch(error: unknown): boolean {
  return error instanceof GitFailure && NO_BRANCH.test(error.stderr);
}

/**
 * Called after every transfer. The outcome of a fetch is `done`, `gone` (origin does not have the branch) or the kind of
 * its error; that of a push is `done`, `stale`, `moved` or the kind of its error.
 */
export type TransferObserver = (kind: 'fetch' | 'push', outcome: string) => void;

/** Returns the same origin, which reports each transfer to `observe`, except those that the manager itself has ended. */
export function observed(origin: Origin, observe: TransferObserver): Origin {
  const observing = async <T>(
    kind: 'fetch' | 'push',
    transfer: Promise<T>,
    outcomeOf: (value: T) => string,
  ): Promise<T> => {
    try {
      const value = await transfer;
      observe(kind, outcomeOf(value));
      return value;
    } catch (error) {
      if (!isShutdownError(error)) observe(kind, kindOf(error));
      throw error;
    }
  };
  return {
    fetch: (pace) =>
      observing('fetch', origin.fetch(pace), (branches) => (branches === null ? 'done' : 'gone')),
    push: (ref, from, to) => observing('push', origin.push(ref, from, to), ({ kind }) => kind),
  };
}

/** Lines of `push --porcelain`: `!<TAB><from>:<to><TAB>[rejected] (<why>)`. */
const REJECTION = /^!\t[^\t]*\t\[(?:remote )?rejected\] \((.*)\)$/m;
const STALE = /^stale info$/;
const MOVED =
  /fetch first|non-fast-forward|cannot lock ref|failed to (update|lock)|incorrect old value|already exists|reference already exists/;

/** Printed by origin's own git, which then ends. Each ref is moved in a transaction of its own. */
const ABORTED =
  /^(?:remote: )?fatal: .*\b(?:ref updates aborted by hook|aborted by the reference-transaction hook)/m;

/** Lines from origin, and git's own line about objects that origin could not store. */
const REMOTE_LINES = /^(?:remote: |error: remote unpack failed: )(.*\S)\s*$/gm;

/** A path on origin's machine, where it could not write. */
const REMOTE_PATH = / '\/[^']*'/g;

/** git's message for a ref that stays locked for longer than git waits. */
const LOCKED = /cannot lock ref '(refs\/[^']*)': Unable to create '[^']*\.lock': File exists/;

/** The same message of an origin that keeps its refs in tables. */
const TABLES_LOCKED = /^remote: error: cannot lock references\s*$/m;

/** git's message for a ref `a/b` that cannot be made because a ref `a` or `a/b/c` exists. */
const NAME_CONFLICT = /'([^']*)' exists; cannot create '([^']*)'/;

function pushFailure(error: unknown): PushOutcome {
  const reason = error instanceof GitFailure ? rejectionReason(error) : undefined;
  if (reason === undefined) throw unreachable(error);
  const [, locked] = LOCKED.exec((error as GitFailure).stderr) ?? [];
  if (locked !== undefined) throw new OriginLocked(shortName(locked), `${locked}.lock`, error);
  if (TABLES_LOCKED.test((error as GitFailure).stderr))
    throw new OriginLocked('its refs', 'reftable/tables.list.lock', error);
  const [, inTheWay, wanted] = NAME_CONFLICT.exec((error as GitFailure).stderr) ?? [];
  if (inTheWay !== undefined) {
    const message = `origin has a ref ${inTheWay}, which conflicts with ${wanted}; delete it there`;
    throw new HoldfastError('conflict', message, {}, error);
  }
  const text = explained(error as GitFailure, reason);
  if (STALE.test(reason)) return { kind: 'stale', reason: text };
  if (MOVED.test(reason)) return { kind: 'moved', reason: text, cause: error };
  throw new HoldfastError('conflict', `origin rejected the push: ${text}`, {}, error);
}

/**
 * Returns the reason for which origin has rejected the push; undefined if it has not. If its reference-transaction hook
 * refuses, origin ends at once: it has moved nothing, and reports no reason to git.
 */
function rejectionReason({ stderr }: GitFailure): string | undefined {
  const [, reason] = REJECTION.exec(stderr) ?? [];
  return reason ?? (ABORTED.test(stderr) ? 'reference-transaction hook declined' : undefined);
}

/** Adds what origin printed to the reason, which is often only "pre-receive hook declined" or "unpacker error". */
function explained({ stderr }: GitFailure, reason: string): string {
  const printed = [...stderr.matchAll(REMOTE_LINES)].map(([, line]) => line).join(' ');
  return redact(printed === '' ? reason : `${reason}: ${printed}`)
    .replaceAll(REMOTE_PATH, '')
    .replace(/\p{Cc}+/gu, ' ')
    .slice(0, 300);
}
