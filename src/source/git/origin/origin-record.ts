import type { Exclusive } from '../../../async/exclusive.ts';
import { HoldfastError, kindOf, messageOf } from '../../../errors.ts';
import type { IdsRecord } from '../../source.ts';
import { createIdsRecord, moveRefs, RECORD_REF, type RecordPlace, readTips } from '../ids-record.ts';
import type { Repository } from '../repository/repository.ts';
import type { OriginAccess } from './access.ts';
import type { MirrorState } from './mirror-state.ts';
import type { Origin } from './origin.ts';

/** Where the mirror keeps what the record at origin was when it was last seen. */
const SEEN_REF = 'refs/holdfast/origin-ids';
/** On which version at origin the mirror's own goes on, where origin did not take that; missing: on none. */
const BASE_REF = 'refs/holdfast/ids-base';

const MOVED = 'another manager wrote the record of ids';

/** What keeping the record at origin needs. */
export interface OriginRecordParts {
  repository: Repository;
  origin: Origin;
  exclusive: Exclusive;
  mirror: Pick<MirrorState, 'fetch' | 'isReached'>;
  access: OriginAccess;
  /** Told once, with a sentence, that origin does not take the record; it is kept in the mirror alone then. Null: it takes it again. */
  onRefused(reason: string | null): void;
}

/**
 * The record of ids at origin, as it was fetched last. The mirror's own counts only while origin has none, or refuses
 * it: then the mirror's was written on top of the very version that origin has.
 */
export function createOriginRecord(parts: OriginRecordParts): IdsRecord {
  const { repository, exclusive, mirror, access } = parts;
  const stand = {
    tip: async () => standingOf(await readVersions(repository)),
    put: createPut(parts),
    isCurrent: mirror.isReached,
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

/** Only over the version that was judged: what somebody else has put there meanwhile is read first. */
function createPut(parts: OriginRecordParts): RecordPlace['put'] {
  const { repository, mirror } = parts;
  const push = createPush(parts);
  return async (tip, expected) => {
    const versions = await readVersions(repository);
    if (standingOf(versions) !== expected) throw new HoldfastError('moved-on', MOVED);
    const outcome = await push(versions.seen, tip);
    if (outcome === 'moved') {
      await mirror.fetch();
      throw new HoldfastError('moved-on', MOVED);
    }
    const isTaken = outcome === 'done';
    await moveRefs(repository, [
      { ref: RECORD_REF, to: tip },
      { ref: SEEN_REF, to: isTaken ? tip : versions.seen },
      { ref: BASE_REF, to: isTaken ? null : versions.seen },
    ]);
  };
}

type Push = (from: string | null, tip: string) => Promise<'done' | 'moved' | 'refused'>;

/** A refusal stays until a person changes something at origin; what is only out of reach rejects, and is tried again by whoever writes. */
function createPush({ origin, onRefused }: OriginRecordParts): Push {
  let isTold = false;
  return async (from, tip) => {
    try {
      const outcome = await origin.push(RECORD_REF, from, tip);
      if (isTold && outcome === 'done') {
        isTold = false;
        onRefused(null);
      }
      return outcome;
    } catch (error) {
      if (kindOf(error) !== 'conflict') throw error;
      if (!isTold) onRefused(messageOf(error));
      isTold = true;
      return 'refused';
    }
  };
}
