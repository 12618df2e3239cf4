import type { Queue } from '../../../async/queue.ts';
import { HoldfastError, kindOf, messageOf } from '../../../errors.ts';
import type { IdsRecord } from '../../../ids/ids-record.ts';
import type { OriginAccess } from '../origin/access.ts';
import { OriginLocked } from '../origin/errors.ts';
import type { Origin } from '../origin/origin.ts';
import { createIdsRecord, type RecordRefs, type RecordTips } from '../record/ids-record.ts';
import { moveRefs, ORIGIN_RECORD_REF, RECORD_REF } from '../refs/move.ts';
import { refTips } from '../refs/tips.ts';
import type { Repository } from '../repository/repository.ts';
import type { Maintenance } from './maintenance.ts';
import { pushSharing } from './mirror.ts';
import type { MirrorState } from './state.ts';

/** The version at origin that the mirror's own, which origin did not accept, is based on. Missing: there was none. */
const BASE_REF = 'refs/holdfast/ids-base';

const MOVED = 'another manager wrote the record of ids';
const NOT_MOVED =
  'origin does not update refs/holdfast/ids, although nobody else has; check the log of origin';
const HIDDEN =
  'origin has refs/holdfast/ids, but hides it from fetches; make it show refs/holdfast (transfer.hideRefs, uploadpack.hideRefs)';
const NOT_TAKEN = 'origin rejected it earlier';

/** Why a version is only in the mirror, for users. */
function localOnlyText(reason: string): string {
  return `origin rejects the record of ids, so it is kept only in the mirror, and pushed again later: ${reason}`;
}

/** The same if the version could not be sent. */
const KEPT = 'the record of ids is kept only in the mirror until it can be pushed';

/** What `createOriginRecord` needs. */
export interface OriginRecordParts {
  repository: Repository;
  /** Full name of the branch. */
  branch: string;
  origin: Origin;
  /** Fetches and pushes take turns. */
  turns: Queue;
  mirror: Pick<MirrorState, 'fetch' | 'isReached'>;
  access: OriginAccess;
  maintenance: Pick<Maintenance, 'addingObjects'>;
}

/**
 * Returns the record of ids at origin, as it was fetched last. The section in the mirror counts instead only if origin has
 * none, or if origin did not accept the mirror's and still has the version that it is based on.
 */
export function createOriginRecord(parts: OriginRecordParts): IdsRecord {
  const { repository, branch, turns, mirror, access, maintenance } = parts;
  /** See `IdsRecord.localOnlyReason`. */
  let localOnlyReason: string | null = null;
  const refs: RecordRefs = {
    readTips: async (versionAt) => {
      const versions = await readVersions(repository);
      const own = await ownTip(versions, versionAt);
      const isAtOrigin = own === versions.seen;
      localOnlyReason = isAtOrigin ? null : (localOnlyReason ?? localOnlyText(NOT_TAKEN));
      return { own, others: versions.seen };
    },
    replace: async (...version) => {
      const refusal = await put(parts, ...version);
      localOnlyReason = refusal === null ? null : localOnlyText(refusal);
    },
    isCurrent: mirror.isReached,
    localOnlyReason: () => localOnlyReason,
  };
  const record = createIdsRecord(repository, { branch, address: access.url, refs });
  return {
    ...record,
    write: (draft) => turns.run(() => maintenance.addingObjects(() => record.write(draft))),
  };
}

/** The versions of the record that the mirror has; null if there is none. */
interface Versions {
  /** The manager's own. */
  own: string | null;
  /** The version at origin, as it was fetched or pushed last. */
  seen: string | null;
  /** The version at origin that `own` is based on, if origin did not accept `own`. */
  base: string | null;
}

async function readVersions(repository: Repository): Promise<Versions> {
  const [own = null, seen = null, base = null] = await refTips(repository, [
    RECORD_REF,
    ORIGIN_RECORD_REF,
    BASE_REF,
  ]);
  return { own, seen, base };
}

/**
 * Returns the version whose section of this manager counts: its own if that continues the version at origin, otherwise
 * the version at origin, which other managers see, too. Its own continues it even if other managers have written their
 * sections there meanwhile.
 */
async function ownTip(
  { own, seen, base }: Versions,
  versionAt: (tip: string | null) => Promise<string | null>,
): Promise<string | null> {
  if (own === null || own === seen) return seen;
  if (seen === null || seen === base) return own;
  return (await versionAt(seen)) === (await versionAt(base)) ? own : seen;
}

/**
 * Pushes a version in place of `seen`, and of no other. Resolves to null if origin accepts it, otherwise to the reason why
 * not, and keeps it in the mirror. Rejects if it is not known whether origin accepts it; the mirror keeps it then, too.
 */
async function put(
  parts: OriginRecordParts,
  tip: string,
  { others: seen }: RecordTips,
  shares: boolean,
): Promise<string | null> {
  const { repository } = parts;
  const send = () => push(parts, seen, tip);
  const pushed = shares && seen !== null ? pushSharing(repository, tip, seen, send) : send();
  const refusal = await pushed.catch((error) => keepInMirror(repository, tip, seen, error));
  const isTaken = refusal === null;
  await moveRefs(repository, [
    { ref: RECORD_REF, to: tip },
    { ref: ORIGIN_RECORD_REF, to: isTaken ? tip : seen },
    { ref: BASE_REF, to: isTaken ? null : seen },
  ]);
  return refusal;
}

/** Keeps a version that could not be sent, so that the loss of the store alone does not lose it. Always rejects. */
async function keepInMirror(
  repository: Repository,
  tip: string,
  seen: string | null,
  error: unknown,
): Promise<never> {
  if (kindOf(error) !== 'unavailable') throw error;
  await moveRefs(repository, [
    { ref: RECORD_REF, to: tip },
    { ref: BASE_REF, to: seen },
  ]);
  throw new HoldfastError('unavailable', `${KEPT}: ${messageOf(error)}`, {}, error);
}

/**
 * Resolves to null if origin accepts the version, and to the reason if it refuses, which lasts until somebody changes
 * something at origin. Rejects as `unavailable` if trying again soon can help, as `moved-on` if another manager has
 * written the record.
 */
async function push(parts: OriginRecordParts, from: string | null, tip: string): Promise<string | null> {
  const { origin, mirror, repository } = parts;
  try {
    const { kind } = await origin.push(RECORD_REF, from, tip);
    if (kind === 'done') return null;
    await mirror.fetch();
    const { seen } = await readVersions(repository);
    if (seen === from && kind === 'stale') return HIDDEN;
    // If nobody has written, making the version again at once would end in the same way.
    throw seen === from ? new HoldfastError('unavailable', NOT_MOVED) : new HoldfastError('moved-on', MOVED);
  } catch (error) {
    // The lock goes away when the other push ends, so this is not a refusal, after which the retry comes much later.
    if (error instanceof OriginLocked) throw new HoldfastError('unavailable', error.message, {}, error);
    if (kindOf(error) === 'conflict') return messageOf(error);
    throw error;
  }
}
