import type { Exclusive } from '../../../async/exclusive.ts';
import { HoldfastError, kindOf, messageOf } from '../../../errors.ts';
import type { IdsRecord } from '../../source.ts';
import { createIdsRecord, moveRefs, RECORD_REF, type RecordPlace, readTips } from '../ids-record.ts';
import type { Repository } from '../repository/repository.ts';
import type { OriginAccess } from './access.ts';
import type { MirrorState } from './mirror-state.ts';
import type { Origin } from './origin.ts';
import { OriginLocked } from './origin-errors.ts';

/** Where the mirror keeps what the record at origin was when it was last seen. */
const SEEN_REF = 'refs/holdfast/origin-ids';
/** On which version at origin the mirror's own goes on, where origin did not take that; missing: on none. */
const BASE_REF = 'refs/holdfast/ids-base';

const MOVED = 'another manager wrote the record of ids';
const NOT_MOVED = 'origin does not move refs/holdfast/ids, and shows it where it was; look at its log';
const HIDDEN =
  'origin has a refs/holdfast/ids that it does not show when it is fetched from; let it show refs/holdfast there (transfer.hideRefs, uploadpack.hideRefs)';
const NOT_TAKEN = 'origin did not take it before';

/** Why a version stands in the mirror alone, for people. */
function asideFor(reason: string): string {
  return `origin does not take the record of ids, so it is kept in the mirror alone, and tried again later: ${reason}`;
}

/** What keeping the record at origin needs. */
export interface OriginRecordParts {
  repository: Repository;
  origin: Origin;
  exclusive: Exclusive;
  mirror: Pick<MirrorState, 'fetch' | 'isReached'>;
  access: OriginAccess;
}

/**
 * The record of ids at origin, as it was fetched last. The mirror's own counts only while origin has none, or refuses
 * it: then the mirror's was written on top of the very version that origin has.
 */
export function createOriginRecord(parts: OriginRecordParts): IdsRecord {
  const { repository, exclusive, mirror, access } = parts;
  let aside: string | null = null;
  const put = createPut(parts);
  const stand: RecordPlace = {
    tip: async () => {
      const versions = await readVersions(repository);
      const tip = standingOf(versions);
      const isAtOrigin = tip === versions.seen;
      aside = isAtOrigin ? null : (aside ?? asideFor(NOT_TAKEN));
      return tip;
    },
    put: async (tip, expected) => {
      const refusal = await put(tip, expected);
      aside = refusal === null ? null : asideFor(refusal);
    },
    isCurrent: mirror.isReached,
    aside: () => aside,
  };
  const record = createIdsRecord(repository, stand, access.url);
  return { ...record, write: (draft) => exclusive(() => record.write(draft)) };
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

/** The version that counts. Of two that nothing connects it is the one at origin: there others see it, too. */
function standingOf({ own, seen, base }: Versions): string | null {
  return own !== null && (seen === null || seen === base) ? own : seen;
}

/**
 * Only over the version that was judged: what somebody else has put there meanwhile is read first. Resolves to why origin does
 * not take it; null where it does.
 */
function createPut(parts: OriginRecordParts) {
  const { repository } = parts;
  return async (tip: string, expected: string | null): Promise<string | null> => {
    const versions = await readVersions(repository);
    if (standingOf(versions) !== expected) throw new HoldfastError('moved-on', MOVED);
    const refusal = await push(parts, versions.seen, tip);
    const isTaken = refusal === null;
    await moveRefs(repository, [
      { ref: RECORD_REF, to: tip },
      { ref: SEEN_REF, to: isTaken ? tip : versions.seen },
      { ref: BASE_REF, to: isTaken ? null : versions.seen },
    ]);
    return refusal;
  };
}

/** A refusal stays until a person changes something at origin; what is only out of reach rejects, and is tried again by whoever writes. */
async function push(parts: OriginRecordParts, from: string | null, tip: string): Promise<string | null> {
  const { origin, mirror, repository } = parts;
  try {
    const outcome = await origin.push(RECORD_REF, from, tip);
    if (outcome === 'done') return null;
    await mirror.fetch();
    const { seen } = await readVersions(repository);
    if (seen === from && outcome === 'stale') return HIDDEN;
    throw new HoldfastError('moved-on', seen === from ? NOT_MOVED : MOVED);
  } catch (error) {
    // The other push comes to its end, so this is no refusal: the record must not stay away for as long as after one.
    if (error instanceof OriginLocked) throw new HoldfastError('unavailable', error.message, {}, error);
    if (kindOf(error) === 'conflict') return messageOf(error);
    throw error;
  }
}
