import { HoldfastError, isOfShutdown, kindOf } from '../../../errors.ts';
import { commands, NO_BRANCH, type ObjectFormat } from '../process/commands.ts';
import { GitFailure, redact, saidBy } from '../process/run.ts';
import type { TransferLimit, Transfers } from '../process/transfer.ts';
import { shortName } from '../repository/refs.ts';
import {
  MISMATCHED,
  NO_SERVER,
  OriginLocked,
  OriginUnavailable,
  OtherFormat,
  unreachable,
} from './origin-errors.ts';

/**
 * The first fetch brings the whole history, later ones what is new. One that was not done in time is tried again with
 * patience: for as long as something arrives.
 */
export interface TransferLimits {
  first: TransferLimit;
  patient: TransferLimit;
  usual: TransferLimit;
}

/**
 * What became of a push: done, or the ref is not where it was thought to be. `stale`: origin showed that before
 * anything was sent; `moved`: it came out when origin was to move the ref. `said` is why in origin's words, for people.
 */
export interface PushOutcome {
  kind: 'done' | 'stale' | 'moved';
  said: string;
}

/** A repository elsewhere, as seen from the mirror. */
export interface Origin {
  /**
   * Brings the branch and the refs of ours into the mirror; resolves to null. When origin answers but has no such branch,
   * the refs of ours are brought all the same, and it resolves to the full names of the branches that origin has.
   * Rejects with an OriginUnavailable, whose message says what to look at; with an OtherFormat where the mirror has to be
   * made again.
   */
  fetch(pace: keyof TransferLimits): Promise<readonly string[] | null>;
  /**
   * Moves a ref from one commit to another (null: it must not be there yet), and does nothing when it is elsewhere.
   * Rejects as `conflict` when origin refuses the change, with an OriginUnavailable when it cannot be reached.
   */
  push(ref: string, from: string | null, to: string): Promise<PushOutcome>;
}

export function createOrigin(transfers: Transfers, branch: string, limits: TransferLimits): Origin {
  return {
    fetch: async (pace) => {
      const isTalkative = pace !== 'usual';
      try {
        await transfers.run(commands.fetch(branch, isTalkative), limits[pace]);
        return null;
      } catch (error) {
        if (!isWithoutBranch(error)) return failToFetch(transfers, error, limits.usual);
      }
      return fetchIds(transfers, pace, limits);
    },
    push: async (ref, from, to) => {
      try {
        await transfers.run(commands.push(ref, from, to), limits.usual);
        return { kind: 'done', said: '' };
      } catch (error) {
        return pushFailure(error, ref);
      }
    },
  };
}

/** What there is to bring without the branch; resolves to the branches that origin has. */
async function fetchIds(
  transfers: Transfers,
  pace: keyof TransferLimits,
  limits: TransferLimits,
): Promise<string[]> {
  const { branches, format } = await branchesOf(transfers, limits.usual);
  try {
    // Where there is no branch, git compares nothing, and the first commit is still to be made.
    if (pace === 'first' && branches.length === 0) await requireFormat(transfers, format, limits.usual);
    await transfers.run(commands.fetchIds(pace !== 'usual'), limits[pace]);
    return branches;
  } catch (error) {
    if (error instanceof OtherFormat) throw error;
    return failToFetch(transfers, error, limits.usual);
  }
}

async function requireFormat(
  transfers: Transfers,
  format: ObjectFormat,
  limit: TransferLimit,
): Promise<void> {
  if ((await ownFormat(transfers, limit)) !== format) throw new OtherFormat(format, null);
}

/**
 * Rejects with why a fetch failed. The mirror keeps what origin may not have, so it is given up only where its own format
 * is not origin's; of the two that there are, that is the other one where git names none.
 */
async function failToFetch(transfers: Transfers, error: unknown, limit: TransferLimit): Promise<never> {
  const failure = unreachable(error);
  const mismatch = MISMATCHED.exec(saidBy(error));
  if (mismatch === null) throw failure;
  const own = await ownFormat(transfers, limit).catch(() => null);
  if (own === null) throw failure;
  const format = (mismatch[1] ?? (own === 'sha1' ? 'sha256' : 'sha1')) as ObjectFormat;
  throw format === own ? failure : new OtherFormat(format, error);
}

async function ownFormat(transfers: Transfers, limit: TransferLimit): Promise<string> {
  return (await transfers.run(commands.objectFormat(), limit)).trim();
}

/** A web page in which git finds no refs looks like a repository without branches: one that is served as plain files. */
async function branchesOf(
  transfers: Transfers,
  limit: TransferLimit,
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
 * Told of every fetch (`done`, `gone`, or the kind of its error) and of every push (`done`, `stale`, `moved`, or the
 * kind).
 */
export type TransferObserver = (kind: 'fetch' | 'push', outcome: string) => void;

/** The same origin; tells how each transfer ended, but for those that the manager itself has ended. */
export function observed(origin: Origin, observe: TransferObserver): Origin {
  const telling = async <T>(
    kind: 'fetch' | 'push',
    act: Promise<T>,
    tell: (value: T) => string,
  ): Promise<T> => {
    try {
      const value = await act;
      observe(kind, tell(value));
      return value;
    } catch (error) {
      if (!isOfShutdown(error)) observe(kind, kindOf(error));
      throw error;
    }
  };
  return {
    fetch: (pace) => telling('fetch', origin.fetch(pace), (others) => (others === null ? 'done' : 'gone')),
    push: (ref, from, to) => telling('push', origin.push(ref, from, to), ({ kind }) => kind),
  };
}

/** Lines of `push --porcelain`: `!<TAB><from>:<to><TAB>[rejected] (<why>)`. */
const REJECTION = /^!\t[^\t]*\t\[(?:remote )?rejected\] \((.*)\)$/m;
const STALE = /^stale info$/;
const MOVED =
  /fetch first|non-fast-forward|cannot lock ref|failed to (update|lock)|incorrect old value|already exists|reference already exists/;

/** Said by origin's own git, which ends there; a branch is moved by a transaction of its own. */
const ABORTED =
  /^(?:remote: )?fatal: .*\b(?:ref updates aborted by hook|aborted by the reference-transaction hook)/m;

/** Lines of origin; and git's own one about objects that origin could not keep. */
const TOLD = /^(?:remote: |error: remote unpack failed: )(.*\S)\s*$/gm;

/** Where on its machine origin could not write. */
const PATH_THERE = / '\/[^']*'/g;

/** git's message for a ref that stays locked for longer than git waits. */
const LOCKED = /cannot lock ref '(refs\/[^']*)': Unable to create '[^']*\.lock': File exists/;

/** The same of an origin that keeps its refs in tables. */
const TABLES_LOCKED = /^remote: error: cannot lock references\s*$/m;

/** git's message for a ref that cannot be made: another one is below its name, or has the name of a folder of it. */
const IN_THE_WAY = /'([^']*)' exists; cannot create '([^']*)'/;

/** Said before anything is sent: git takes a branch or tag whose name ends with a full name for one of that name, too. */
const AMBIGUOUS = /^error: dst refspec \S+ matches more than one/m;

/** The same of the one that git takes where nothing else has that name: it is leased as one that is not there. */
const LEASED = /^!\t[^\t:]*:([^\t]*)\t\[rejected\] \(stale info\)$/m;

function pushFailure(error: unknown, ref: string): PushOutcome {
  if (isForAnother(error, ref)) {
    const message = `origin has another ref whose name ends with ${ref}, so git does not push to it; find it with "git ls-remote origin ${ref}", and delete it`;
    throw new HoldfastError('conflict', message, {}, error);
  }
  const why = error instanceof GitFailure ? whyRejected(error) : undefined;
  if (why === undefined) throw unreachable(error);
  const [, locked] = LOCKED.exec((error as GitFailure).stderr) ?? [];
  if (locked !== undefined) throw new OriginLocked(shortName(locked), `${locked}.lock`, error);
  if (TABLES_LOCKED.test((error as GitFailure).stderr))
    throw new OriginLocked('its refs', 'reftable/tables.list.lock', error);
  const [, inTheWay, wanted] = IN_THE_WAY.exec((error as GitFailure).stderr) ?? [];
  if (inTheWay !== undefined) {
    const message = `origin has a ref ${inTheWay}, which conflicts with ${wanted}; delete it there`;
    throw new HoldfastError('conflict', message, {}, error);
  }
  const said = shown(error as GitFailure, why);
  if (STALE.test(why)) return { kind: 'stale', said };
  if (MOVED.test(why)) return { kind: 'moved', said };
  throw new HoldfastError('conflict', `origin rejected the push: ${said}`, {}, error);
}

/** Whether git would have moved another ref, or did not know which one is meant. */
function isForAnother(error: unknown, ref: string): boolean {
  const text = saidBy(error);
  const [, leased = ref] = LEASED.exec(text) ?? [];
  return AMBIGUOUS.test(text) || leased !== ref;
}

/** Origin ends at once where its reference-transaction hook refuses: it moved nothing, and has no word for git. */
function whyRejected({ stderr }: GitFailure): string | undefined {
  const [, why] = REJECTION.exec(stderr) ?? [];
  return why ?? (ABORTED.test(stderr) ? 'reference-transaction hook declined' : undefined);
}

/** What origin told the person who pushes says more than "pre-receive hook declined", or "unpacker error". */
function shown({ stderr }: GitFailure, why: string): string {
  const told = [...stderr.matchAll(TOLD)].map(([, line]) => line).join(' ');
  return redact(told === '' ? why : `${why}: ${told}`)
    .replaceAll(PATH_THERE, '')
    .replace(/\p{Cc}+/gu, ' ')
    .slice(0, 300);
}
