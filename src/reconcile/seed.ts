import { startFloor } from '../plan/ids.ts';
import type { IdsRecord, Reader } from '../source/source.ts';
import type { Store, StoreState } from '../store/store.ts';
import { highestId, seedsOf } from './record/seeds.ts';
import { mayKnowMore, type Standing, standingOf } from './record/standing.ts';
import { trustOf } from './record/trust.ts';

/** What seeding did, for log and status. */
export interface Seeding {
  /**
   * `no-counters`: a first start, or the store was lost. `older-than-record`: the store was restored from a backup.
   * `another-store`: the devices may have been served from another store since.
   */
  cause: 'no-counters' | 'older-than-record' | 'another-store';
  /** What was found at the record's ref; only of `used` the ids were taken. */
  record: 'used' | 'none' | 'damaged' | 'elsewhere';
  /** The tip of the record that was used, where that was another store's. */
  adopted: string | null;
  /** How many counters were seeded, and how many recorded contents keep their id. */
  names: number;
  kept: number;
  floor: number;
  /** Whether git could name everything that ever was; otherwise every name starts at the floor, also new ones. */
  isComplete: boolean;
}

/** What seeding works with. `now` is Unix milliseconds; `head` is the revision that the branch is at. */
export interface SeedContext {
  store: Store;
  reader: Reader;
  record: IdsRecord;
  head: string | null;
  now: number;
}

/**
 * Gives every name of the past its floor when a store starts without counters, or with counters older than the
 * recorded ones (decisions, "Ids"): whatever was served before, the next id of such a name lies above it. Recorded
 * contents that surely did not change since keep their ids. Resolves to null where the store knows best itself.
 */
export async function seedStore(context: SeedContext): Promise<Seeding | null> {
  const { store, record } = context;
  const state = await store.state();
  const text = await record.read();
  if (state.seeded && !mayKnowMore(text, state)) return null;
  const standing = standingOf(text, record.place, state.fleet);
  const cause = causeOf(state, standing);
  return cause === null ? null : seed(context, standing, cause);
}

/**
 * A lost store has a new fleet, and so has the store that followed one which was restored later: the record of
 * another store in the same place may be that of the same devices, and the higher of both ids is right for all.
 */
function causeOf({ seeded, idSequence }: StoreState, standing: Standing): Seeding['cause'] | null {
  if (!seeded) return 'no-counters';
  if (standing.kind === 'another') return 'another-store';
  const isOlder = standing.kind === 'ours' && standing.record.meta.idSequence > idSequence;
  return isOlder ? 'older-than-record' : null;
}

async function seed(
  { store, reader, head, now }: SeedContext,
  standing: Standing,
  cause: Seeding['cause'],
): Promise<Seeding> {
  const known = standing.kind === 'ours' || standing.kind === 'another' ? standing.record : null;
  const recorded = known?.rows ?? [];
  const history = await reader.history();
  const stored = await store.counters(0);
  const others = 'record' in standing ? standing.record.rows : [];
  const floor = startFloor({
    now: Math.floor(now / 1000),
    newestCommit: history.newestCommit,
    // One more than the recorded id may have been given before the store was lost.
    highestId: Math.max(highestId(stored), highestId(others) + 1),
  });
  const isTrusted = known === null ? () => false : await trustOf(known.meta, head, reader);
  const seeds = seedsOf({ paths: history.paths, stored, recorded }, isTrusted, floor);
  const { isComplete } = history;
  await store.seedCounters(seeds, known?.meta.idSequence ?? 0, isComplete ? 0 : floor);
  return {
    cause,
    record: known === null ? unused(standing) : 'used',
    adopted: standing.kind === 'another' ? standing.tip : null,
    names: seeds.length,
    kept: recorded.filter(({ kind, name, hash }) => hash !== null && isTrusted(`${kind}/${name}`)).length,
    floor,
    isComplete,
  };
}

function unused({ kind }: Standing): Seeding['record'] {
  return kind === 'damaged' || kind === 'elsewhere' ? kind : 'none';
}
