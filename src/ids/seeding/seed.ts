import { startFloor } from '../counter.ts';
import type { CounterRow, HistoryPoint, IdState, IdStore } from '../id-store.ts';
import type { FolderHistory, IdsReader } from '../ids-reader.ts';
import type { SectionText } from '../ids-record.ts';
import { type ClassifiedSection, classifySection, mayKnowMore } from '../record/classify.ts';
import { counterKey, highestId, type SectionContent } from '../record/format.ts';
import { Shards } from '../record/shards.ts';
import { type CounterPolicy, seedsOf } from './counter-seeds.ts';
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
   * section could not be read.
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

/** The section of the manager's line as it was read. */
export interface SectionRead {
  /** Null if there is none. */
  text: SectionText | null;
  /** Whether this process has used another version before. It can have given ids since, so their number says nothing. */
  isReread: boolean;
}

/** What seeding works with. */
export interface SeedContext {
  store: IdStore;
  reader: IdsReader;
  section: SectionRead;
  /** The head, with its line and repository. */
  head: HistoryPoint;
  /** What happens to the store's counters if it has not followed the head's history; null if it has, or was never seeded. */
  discontinuity: CounterPolicy | null;
  /** Unix milliseconds. */
  now: number;
}

/** Why the store must be seeded, and the section if it knows ids which the store does not. */
interface Finding {
  cause: Seeding['cause'];
  /** The section as it was read. */
  classified: ClassifiedSection;
  /** Its content; null if it cannot be read, or the store knows all of it. */
  recorded: SectionContent | null;
}

/**
 * Seeds the store if it has no counters, or older ones than the record, or if it did not follow the head's history
 * (docs/contract.md, 8.3). Every name in git's history, the store or the record gets the floor, so that its next id lies above
 * every id that was served before; see `CounterPolicy` for names that the store has. Recorded contents that certainly did
 * not change since keep their ids.
 *
 * Resolves to null if no counter got a seed; for another history, the store keeps `seededFrom` even then. Rejects as
 * `unavailable`.
 */
export async function seedStore(context: SeedContext): Promise<Seeding | null> {
  const { store, section, discontinuity } = context;
  const state = await store.state();
  const isContinued = state.seededFrom !== null && discontinuity === null;
  if (isContinued && !section.isReread && !mayKnowMore(section.text, state)) return null;
  const classified = classifySection(section.text, context.head.line, state.fleet);
  const found = await causeIn(classified, state, store);
  const cause = found ?? (discontinuity === null ? null : 'other-history');
  if (cause === null) return null;
  const recorded = found !== null && 'section' in classified ? classified.section : null;
  return seedFrom(context, { cause, classified, recorded });
}

/**
 * Resolves to why a store must be seeded from a section; null if the section knows no more than the store. A section that
 * another store wrote for the same line counts: a lost store, and one that replaced a store which was restored later,
 * served the same devices under another fleet, and the higher of both ids is right for them.
 */
async function causeIn(
  classified: ClassifiedSection,
  state: IdState,
  store: IdStore,
): Promise<Seeding['cause'] | null> {
  if (state.seededFrom === null) return 'no-counters';
  if (classified.kind === 'another') return 'another-store';
  const isAhead = classified.kind === 'ours' && (await isAheadOf(classified.section, state, store));
  return isAhead ? 'older-than-record' : null;
}

/** Compares rows, too: on a copy that was used before the record could be read, the number of ids is no measure. */
async function isAheadOf(
  { meta, rows }: SectionContent,
  { idSequence }: IdState,
  store: IdStore,
): Promise<boolean> {
  if (meta.idSequence > idSequence) return true;
  const counters = new Shards();
  await counters.add(await store.counters(0));
  return counters.areBehind(rows);
}

/** Seeds the store. Resolves to null if a history that was not followed gave no counter a seed. */
async function seedFrom(context: SeedContext, finding: Finding): Promise<Seeding | null> {
  const { store, reader, head, discontinuity } = context;
  const { cause, recorded } = finding;
  const rows = recorded?.rows ?? [];
  const history = await reader.history();
  const stored = await store.counters(0);
  const floor = floorAbove({ stored, recorded: rows }, history, context.now);
  const isTrusted = recorded === null ? () => false : await trustOf(recorded, head.revision, reader);
  const policy = policyFor(cause, discontinuity);
  const seeds = await seedsOf({ paths: history.paths, stored, policy, recorded: rows }, isTrusted, floor);
  await store.seedCounters({
    seeds,
    idSequence: recorded?.meta.idSequence ?? 0,
    defaultFloor: history.isComplete ? 0 : floor,
    from: head,
  });
  if (cause === 'other-history' && seeds.length === 0) return null;
  return {
    cause,
    record: recordIn(finding),
    names: seeds.length,
    kept: rows.filter((row) => row.hash !== null && isTrusted(counterKey(row))).length,
    floor,
    historyIsComplete: history.isComplete,
  };
}

/** With any cause but `other-history` the store's counters can be too low, so that they cannot stay as they are. */
function policyFor(cause: Seeding['cause'], discontinuity: CounterPolicy | null): CounterPolicy {
  if (discontinuity === 'keep' && cause !== 'other-history') return 'raise';
  return discontinuity ?? 'raise';
}

function recordIn({ classified, recorded }: Finding): Seeding['record'] {
  if (recorded !== null) return 'used';
  return classified.kind === 'damaged' ? 'damaged' : 'none';
}

/** Returns a floor above every id that the store or its section of the record knows. */
function floorAbove(
  { stored, recorded }: Record<'stored' | 'recorded', readonly CounterRow[]>,
  { newestCommit }: FolderHistory,
  now: number,
): number {
  // A store that is lost can have given one id more than it recorded.
  const highest = Math.max(highestId(stored), highestId(recorded) + 1);
  return startFloor({ now: Math.floor(now / 1000), newestCommit, highestId: highest });
}
