import { startFloor } from '../../plan/ids.ts';
import {
  type FolderHistory,
  type IdsRecord,
  lineOf,
  type Reader,
  type SectionText,
} from '../../source/source.ts';
import type { CounterRow, HistoryPoint, IdStore, StoreState } from '../../store/store.ts';
import { type ClassifiedSection, classifySection, mayKnowMore } from '../record/classify.ts';
import {
  counterKey,
  declaredHighest,
  decodeMeta,
  highestId,
  META,
  type SectionContent,
} from '../record/format.ts';
import { Shards } from '../record/shards.ts';
import { type CounterPolicy, seedsOf } from './counter-seeds.ts';
import { type Trust, trustOf } from './trust.ts';

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

/** Sections of the record as they were read. */
export interface Sections {
  /** The section of the manager's line; null if there is none. */
  own: SectionText | null;
  /** The section of the line that the store followed before, if that is another one. */
  previous: { line: string; text: SectionText | null } | null;
  /** Whether this process has used other versions before. It can have given ids since, so their number says nothing. */
  isReread: boolean;
}

/** What seeding works with. */
export interface SeedContext {
  store: IdStore;
  reader: Reader;
  record: Pick<IdsRecord, 'line' | 'read' | 'readFromAllSections'>;
  sections: Sections;
  /** The head, with its line and repository. */
  head: HistoryPoint;
  /** What happens to the store's counters if it has not followed the head's history; null if it has, or was never seeded. */
  discontinuity: CounterPolicy | null;
  /** Unix milliseconds. */
  now: number;
}

/** Why the store must be seeded, and the sections that know ids which it does not. */
interface Finding {
  cause: Seeding['cause'];
  /** The manager's own section as it was read. */
  classified: ClassifiedSection;
  /** Its content; null if it cannot be read, or the store knows all of it. */
  own: SectionContent | null;
  /** The section of another line from which the same devices were served, or may have been. */
  otherLine: SectionContent | null;
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
  const { store, record, sections, discontinuity } = context;
  const state = await store.state();
  const texts = [sections.own, sections.previous?.text ?? null];
  const isContinued = state.seededFrom !== null && discontinuity === null;
  if (isContinued && !sections.isReread && !texts.some((text) => mayKnowMore(text, state))) return null;
  const finding = await findCause(context, state);
  if (finding === null) return null;
  const metas = await record.readFromAllSections(META);
  const otherLine = finding.otherLine ?? (await sectionAfterMove(finding.own, metas, record));
  return seedFrom(context, { ...finding, otherLine }, Math.max(0, ...metas.map(declaredHighest)));
}

/**
 * Resolves to null if neither section knows more than the store, and the store has followed the head's history.
 *
 * A store that comes from another line brings its devices along. If it is an old copy, or another store has served the
 * devices since, the section of that line shows it.
 */
async function findCause(context: SeedContext, state: StoreState): Promise<Finding | null> {
  const { store, record, sections, discontinuity } = context;
  const own = classifySection(sections.own, record.line, state.fleet);
  const ownCause = await causeIn(own, state, store);
  const { line, text } = sections.previous ?? { line: '', text: null };
  const previous = classifySection(text, line, state.fleet);
  // A store without counters comes from no other line.
  const previousCause = state.seededFrom === null ? null : await causeIn(previous, state, store);
  const cause = ownCause ?? previousCause ?? (discontinuity === null ? null : 'other-history');
  if (cause === null) return null;
  return {
    cause,
    classified: own,
    own: ownCause === null ? null : contentOf(own),
    otherLine: previousCause === null ? null : contentOf(previous),
  };
}

/**
 * Resolves to why a store must be seeded from a section; null if the section knows no more than the store. A section that
 * another store wrote for the same line counts: a lost store, and one that replaced a store which was restored later,
 * served the same devices under another fleet, and the higher of both ids is right for them.
 */
async function causeIn(
  classified: ClassifiedSection,
  state: StoreState,
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
  { idSequence }: StoreState,
  store: IdStore,
): Promise<boolean> {
  if (meta.idSequence > idSequence) return true;
  const counters = new Shards();
  await counters.add(await store.counters(0));
  return counters.areBehind(rows);
}

/**
 * Looks for the line that the store of `own` moved to last: its devices went along, and may have come back. Resolves to
 * that line's section, which has the names of all lines in between, too, but no rows if they cannot be read; null if the
 * store did not move. `metas` are the `meta.json` of all sections.
 */
async function sectionAfterMove(
  own: SectionContent | null,
  metas: readonly string[],
  record: SeedContext['record'],
): Promise<SectionContent | null> {
  if (own === null) return null;
  const { fleet, idSequence } = own.meta;
  const later = metas
    .map(decodeMeta)
    .filter((meta) => meta !== null)
    .filter((meta) => meta.fleet === fleet && lineOf(meta) !== record.line && meta.idSequence > idSequence)
    .sort((a, b) => b.idSequence - a.idSequence)[0];
  if (later === undefined) return null;
  const line = lineOf(later);
  return contentOf(classifySection(await record.read(line), line, fleet)) ?? { meta: later, rows: [] };
}

/**
 * Seeds the store. Resolves to null if a history that was not followed gave no counter a seed. `declared` is the highest
 * id that any section declares.
 */
async function seedFrom(context: SeedContext, finding: Finding, declared: number): Promise<Seeding | null> {
  const { store, reader, head, discontinuity } = context;
  const { cause, own, otherLine } = finding;
  const recorded = own?.rows ?? [];
  const history = await reader.history();
  const stored = await store.counters(0);
  const floor = floorAbove({ stored, recorded }, declared, history, context.now);
  const isTrusted = await trustIn(finding, context);
  const policy = policyFor(cause, discontinuity);
  const sources = { paths: history.paths, stored, policy, recorded, otherLine: otherLine?.rows ?? [] };
  const seeds = await seedsOf(sources, isTrusted, floor);
  await store.seedCounters({
    seeds,
    idSequence: Math.max(own?.meta.idSequence ?? 0, otherLine?.meta.idSequence ?? 0),
    defaultFloor: history.isComplete ? 0 : floor,
    from: head,
  });
  if (cause === 'other-history' && seeds.length === 0) return null;
  return {
    cause,
    record: recordIn(finding),
    names: seeds.length,
    kept: recorded.filter((row) => row.hash !== null && isTrusted(counterKey(row))).length,
    floor,
    historyIsComplete: history.isComplete,
  };
}

/** With any cause but `other-history` the store's counters can be too low, so that they cannot stay as they are. */
function policyFor(cause: Seeding['cause'], discontinuity: CounterPolicy | null): CounterPolicy {
  if (discontinuity === 'keep' && cause !== 'other-history') return 'raise';
  return discontinuity ?? 'raise';
}

/** If devices can have come from another line, neither section knows everything that they can have seen. */
async function trustIn({ own, otherLine }: Finding, { head, reader }: SeedContext): Promise<Trust> {
  return own === null || otherLine !== null ? () => false : trustOf(own, head.revision, reader);
}

function recordIn({ classified, own, otherLine }: Finding): Seeding['record'] {
  if (own !== null || otherLine !== null) return 'used';
  return classified.kind === 'damaged' || classified.kind === 'newer' ? 'damaged' : 'none';
}

function contentOf(classified: ClassifiedSection): SectionContent | null {
  return 'section' in classified ? classified.section : null;
}

/**
 * Returns a floor above every id of the store and of every section: the devices can have been served from another folder
 * or branch before, by a store that is lost. Only the floor takes other lines into account: an id of another line does not
 * say what the devices of this line had seen before it was given.
 */
function floorAbove(
  { stored, recorded }: Record<'stored' | 'recorded', readonly CounterRow[]>,
  declared: number,
  { newestCommit }: FolderHistory,
  now: number,
): number {
  // A store that is lost can have given one id more than it recorded.
  const highestRecorded = Math.max(highestId(recorded), declared);
  const highest = Math.max(highestId(stored), highestRecorded + 1);
  return startFloor({ now: Math.floor(now / 1000), newestCommit, highestId: highest });
}
