import { startFloor } from '../counter.ts';
import type { CounterRow, HistoryPoint, IdState, IdStore } from '../id-store.ts';
import type { FolderHistory, IdsReader } from '../ids-reader.ts';
import { counterKey, decodeMeta, decodeRecord, highestId, type RecordContent } from '../record/format.ts';
import { areBehind } from '../record/rows.ts';
import type { RecordVersion } from '../record-ref.ts';
import type { Discontinuity } from './continuity.ts';
import { seedsOf } from './counter-seeds.ts';
import { trustOf } from './trust.ts';

/** What seeding did, for log and status. */
export interface Seeding {
  /**
   * - `no-counters`: a first start, or the store was lost.
   * - `older-than-record`: the store was restored from a backup.
   * - `another-store`: the devices may have been served from another store since.
   * - `other-history`: the store did not follow the history of the head from its beginning.
   */
  cause: 'no-counters' | 'older-than-record' | 'another-store' | 'other-history';
  /**
   * `used`: recorded ids were taken into account. `none`: there were none that the store did not know. `damaged`: the
   * record could not be read.
   */
  record: 'used' | 'none' | 'damaged';
  /** How many counters were seeded. */
  names: number;
  /** How many recorded contents keep their id. */
  kept: number;
  floor: number;
  /** False if git could not name everything that ever was; then all names start at the floor, also new ones. */
  historyIsComplete: boolean;
}

/** What seeding works with. */
export interface SeedContext {
  store: IdStore;
  reader: IdsReader;
  /** The record as it was read; null if there is none. */
  version: RecordVersion | null;
  /** Whether this process has used another version before. It can have given ids since, so their number says nothing. */
  isReread: boolean;
  /** The head, with its line and repository. */
  head: HistoryPoint;
  discontinuity: Discontinuity | null;
  /** Unix milliseconds. */
  now: number;
}

/** Why the store must be seeded, and what the record says that the store does not know; a text if it cannot be read. */
interface Finding {
  cause: Seeding['cause'];
  recorded: RecordContent | string | null;
}

/**
 * Seeds the store if it has no counters, or older ones than the record, or if it did not follow the head's history
 * (docs/contract.md, 8.3). Every name in git's history, the store or the record gets the floor, so that its next id lies above
 * every id that was served before. Objects of a foreign history take it at once. Recorded contents that certainly did not
 * change since keep their ids.
 *
 * Resolves to null if no counter got a seed; for another history, the store keeps `seededFrom` even then. Rejects as
 * `unavailable`.
 */
export async function seedStore(context: SeedContext): Promise<Seeding | null> {
  const { store, discontinuity } = context;
  const found = await findInRecord(context, await store.state());
  if (found !== null) return seedFrom(context, found);
  return discontinuity === null ? null : seedFrom(context, { cause: 'other-history', recorded: null });
}

/**
 * Resolves to why a store must be seeded from the record; null if the record knows no more than the store. One that another
 * store wrote for the same line counts: a lost store, and one that replaced a store which was restored later, served the
 * same devices under another fleet, and the higher of both ids is right for them.
 *
 * The rows that this very store wrote last are not decoded. A record that is behind the store can still have ids which the
 * store does not know, if the store is a copy that has given others since.
 */
async function findInRecord(
  { store, version, isReread, head }: SeedContext,
  { seededFrom, fleet, idSequence }: IdState,
): Promise<Finding | null> {
  const meta = decodeMeta(version);
  const isOwn = meta?.fleet === fleet && meta.idSequence === idSequence;
  if (seededFrom !== null && (meta === null || (isOwn && !isReread))) return null;
  const recorded = version === null ? null : await decodeRecord(version, head.line);
  if (seededFrom === null) return { cause: 'no-counters', recorded };
  if (recorded === null || typeof recorded === 'string') return null;
  if (recorded.meta.fleet !== fleet) return { cause: 'another-store', recorded };
  const isAhead =
    recorded.meta.idSequence > idSequence || (await areBehind(await store.counters(0), recorded.rows));
  return isAhead ? { cause: 'older-than-record', recorded } : null;
}

/** Seeds the store. Resolves to null if a history that was not followed gave no counter a seed. */
async function seedFrom(context: SeedContext, { cause, recorded }: Finding): Promise<Seeding | null> {
  const { store, reader, head, discontinuity } = context;
  const content = typeof recorded === 'string' ? null : recorded;
  const rows = content?.rows ?? [];
  const history = await reader.history();
  const counters = await store.counters(0);
  const floor = floorAbove({ counters, rows }, history, context.now);
  const isTrusted = await trustOf(content?.meta.revision ?? null, head.revision, reader);
  const stored = discontinuity === 'foreign' ? [] : counters;
  const seeds = await seedsOf({ paths: history.paths, stored, recorded: rows }, isTrusted, floor);
  await store.seedCounters({
    seeds,
    idSequence: content?.meta.idSequence ?? 0,
    defaultFloor: history.isComplete ? 0 : floor,
    from: head,
  });
  if (cause === 'other-history' && seeds.length === 0) return null;
  return {
    cause,
    record: content !== null ? 'used' : recorded === null ? 'none' : 'damaged',
    names: seeds.length,
    kept: rows.filter((row) => row.hash !== null && isTrusted(counterKey(row))).length,
    floor,
    historyIsComplete: history.isComplete,
  };
}

/** Returns a floor above every id that the store or the rows of the record know. */
function floorAbove(
  { counters, rows }: Record<'counters' | 'rows', readonly CounterRow[]>,
  { newestCommit }: FolderHistory,
  now: number,
): number {
  // A store that is lost can have given one id more than it recorded.
  const highest = Math.max(highestId(counters), highestId(rows) + 1);
  return startFloor({ now: Math.floor(now / 1000), newestCommit, highestId: highest });
}
