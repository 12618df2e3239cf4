import { startFloor } from '../plan/ids.ts';
import type { FolderHistory, IdsRecord, Reader } from '../source/source.ts';
import type { CounterRow, Followed, Store, StoreState } from '../store/store.ts';
import type { Breach } from './continuity.ts';
import { counterKey, type RecordContent } from './record/format.ts';
import { highestId, seedsOf } from './record/seeds.ts';
import { mayKnowMore, type Standing, standingOf } from './record/standing.ts';
import { trustOf } from './record/trust.ts';

/** What seeding did, for log and status. */
export interface Seeding {
  /**
   * `no-counters`: a first start, or the store was lost. `older-than-record`: the store was restored from a backup.
   * `another-store`: the devices may have been served from another store since. `other-history`: the store did not follow the
   * history of the head from its beginning.
   */
  cause: 'no-counters' | 'older-than-record' | 'another-store' | 'other-history';
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

/** What seeding works with. `now` is Unix milliseconds; `followed` names the head; `breach` says what its history is to the store. */
export interface SeedContext {
  store: Store;
  reader: Reader;
  record: IdsRecord;
  followed: Followed;
  breach: Breach | null;
  now: number;
}

/**
 * Gives every name of the past its floor when a store starts without counters, or with counters older than the
 * recorded ones (decisions, "Ids"), and when a head has a history that the store did not follow: whatever was served before,
 * the next id of such a name lies above it. Recorded contents that surely did not change since keep their ids. Resolves to
 * null where the store knows best itself.
 */
export async function seedStore(context: SeedContext): Promise<Seeding | null> {
  const { store, record, breach } = context;
  const state = await store.state();
  const text = await record.read();
  if (state.seeded && breach === null && !mayKnowMore(text, state)) return null;
  const standing = standingOf(text, record.place, state.fleet);
  const cause = causeOf(state, standing) ?? (breach === null ? null : 'other-history');
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
  context: SeedContext,
  standing: Standing,
  cause: Seeding['cause'],
): Promise<Seeding | null> {
  const { store, reader, followed } = context;
  const known = recordFor(cause, standing);
  const recorded = known?.rows ?? [];
  const history = await reader.history();
  const stored = await store.counters(0);
  const floor = floorAbove(context, history, [stored, 'record' in standing ? standing.record.rows : []]);
  const isTrusted = known === null ? () => false : await trustOf(known, followed.revision, reader);
  const scope = cause === 'other-history' || context.breach === 'retake' ? context.breach : null;
  const seeds = seedsOf(
    { paths: history.paths, stored, recorded, scope: scope ?? 'raise' },
    isTrusted,
    floor,
  );
  const { isComplete } = history;
  await store.seedCounters(seeds, known?.meta.idSequence ?? 0, isComplete ? 0 : floor, followed);
  if (cause === 'other-history' && seeds.length === 0) return null;
  return {
    cause,
    record: known === null ? unused(standing) : 'used',
    adopted: standing.kind === 'another' ? standing.tip : null,
    names: seeds.length,
    kept: recorded.filter((row) => row.hash !== null && isTrusted(counterKey(row))).length,
    floor,
    isComplete,
  };
}

/** The record whose ids count; the store's own says nothing that the store does not know, unless it is ahead. */
function recordFor(cause: Seeding['cause'], standing: Standing): RecordContent | null {
  if (cause === 'other-history') return null;
  return standing.kind === 'ours' || standing.kind === 'another' ? standing.record : null;
}

function floorAbove(
  { now }: SeedContext,
  { newestCommit }: FolderHistory,
  [stored, others]: readonly [readonly CounterRow[], readonly CounterRow[]],
): number {
  // One more than the recorded id may have been given before the store was lost.
  const highest = Math.max(highestId(stored), highestId(others) + 1);
  return startFloor({ now: Math.floor(now / 1000), newestCommit, highestId: highest });
}

function unused({ kind }: Standing): Seeding['record'] {
  return kind === 'damaged' || kind === 'elsewhere' ? kind : 'none';
}
