import type { Queue } from '../../../async/queue.ts';
import { HoldfastError, kindOf, messageOf } from '../../../errors.ts';
import type { IdsRecord } from '../../source.ts';
import { createIdsRecord, type RecordRefs, type RecordTips } from '../record/ids-record.ts';
import { moveRefs, RECORD_REF, SEEN_REF } from '../record/refs.ts';
import type { Maintenance } from '../repository/maintenance.ts';
import { readTips } from '../repository/refs.ts';
import type { Repository } from '../repository/repository.ts';
import type { OriginAccess } from './access.ts';
import { sharing } from './mirror.ts';
import type { MirrorState } from './mirror-state.ts';
import type { Origin } from './origin.ts';
import { OriginLocked } from './origin-errors.ts';

/** On which version at origin the mirror's own goes on, where origin did not take that; missing: on none. */
const BASE_REF = 'refs/holdfast/ids-base';

const MOVED = 'another manager wrote the record of ids';
const NOT_MOVED =
  'origin does not update refs/holdfast/ids, although nobody else has; check the log of origin';
const HIDDEN =
  'origin has refs/holdfast/ids, but hides it from fetches; make it show refs/holdfast (transfer.hideRefs, uploadpack.hideRefs)';
const NOT_TAKEN = 'origin rejected it earlier';

/** Why a version stands in the mirror alone, for people. */
function asideFor(reason: string): string {
  return `origin rejects the record of ids, so it is kept only in the mirror, and pushed again later: ${reason}`;
}

/** The same of one that origin could not be asked to take. */
const KEPT = 'the record of ids is kept only in the mirror until it can be pushed';

/** What keeping the record at origin needs. */
export interface OriginRecordParts {
  repository: Repository;
  /** Full name of the branch. */
  branch: string;
  origin: Origin;
  /** Fetches and pushes take turns. */
  turns: Queue;
  mirror: Pick<MirrorState, 'fetch' | 'isReached'>;
  access: OriginAccess;
  maintenance: Pick<Maintenance, 'adding'>;
}

/**
 * The record of ids at origin, as it was fetched last. The mirror's own section counts only while origin has none, or
 * refuses it: then the mirror's was written on top of the very one that origin has.
 */
export function createOriginRecord(parts: OriginRecordParts): IdsRecord {
  const { repository, branch, turns, mirror, access, maintenance } = parts;
  let aside: string | null = null;
  const refs: RecordRefs = {
    look: async (versionAt) => {
      const versions = await readVersions(repository);
      const own = await validTip(versions, versionAt);
      const isAtOrigin = own === versions.seen;
      aside = isAtOrigin ? null : (aside ?? asideFor(NOT_TAKEN));
      return { own, others: versions.seen };
    },
    put: async (...version) => {
      const refusal = await put(parts, ...version);
      aside = refusal === null ? null : asideFor(refusal);
    },
    isCurrent: mirror.isReached,
    aside: () => aside,
  };
  const record = createIdsRecord(repository, { branch, address: access.url, refs });
  return { ...record, write: (draft) => turns.run(() => maintenance.adding(() => record.write(draft))) };
}

/** The versions that the mirror knows of; null where there is none. */
interface Versions {
  own: string | null;
  seen: string | null;
  base: string | null;
}

async function readVersions(repository: Repository): Promise<Versions> {
  const [own = null, seen = null, base = null] = await readTips(repository, [RECORD_REF, SEEN_REF, BASE_REF]);
  return { own, seen, base };
}

/**
 * The version whose section counts. Of two that nothing connects it is the one at origin: there others see it, too.
 * What other managers have written there in sections of theirs since connects the two all the same.
 */
async function validTip(
  { own, seen, base }: Versions,
  versionAt: (tip: string | null) => Promise<string | null>,
): Promise<string | null> {
  if (own === null || own === seen) return seen;
  if (seen === null || seen === base) return own;
  return (await versionAt(seen)) === (await versionAt(base)) ? own : seen;
}

/**
 * Only over the version that was judged. Resolves to why origin does not take it; null where it does. Where that is not
 * known, the version stays in the mirror, and this rejects: it may be at origin, or come there.
 */
async function put(
  parts: OriginRecordParts,
  tip: string,
  { others: seen }: RecordTips,
  shares: boolean,
): Promise<string | null> {
  const { repository } = parts;
  const send = () => push(parts, seen, tip);
  const sent = shares && seen !== null ? sharing(repository, tip, seen, send) : send();
  const refusal = await sent.catch((error) => keep(repository, tip, seen, error));
  const isTaken = refusal === null;
  await moveRefs(repository, [
    { ref: RECORD_REF, to: tip },
    { ref: SEEN_REF, to: isTaken ? tip : seen },
    { ref: BASE_REF, to: isTaken ? null : seen },
  ]);
  return refusal;
}

/** What the loss of the store alone would otherwise take along, as long as origin is away. */
async function keep(
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
 * A refusal stays until a person changes something at origin; what is only out of reach rejects, and is tried again by
 * whoever writes.
 */
async function push(parts: OriginRecordParts, from: string | null, tip: string): Promise<string | null> {
  const { origin, mirror, repository } = parts;
  try {
    const { kind } = await origin.push(RECORD_REF, from, tip);
    if (kind === 'done') return null;
    await mirror.fetch();
    const { seen } = await readVersions(repository);
    if (seen === from && kind === 'stale') return HIDDEN;
    // Where nobody has written, to make the version again at once would come to the same.
    throw seen === from ? new HoldfastError('unavailable', NOT_MOVED) : new HoldfastError('moved-on', MOVED);
  } catch (error) {
    // The other push comes to its end, so this is no refusal: the record must not stay away for as long as after one.
    if (error instanceof OriginLocked) throw new HoldfastError('unavailable', error.message, {}, error);
    if (kindOf(error) === 'conflict') return messageOf(error);
    throw error;
  }
}
