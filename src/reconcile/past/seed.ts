import { startFloor } from '../../plan/ids.ts';
import {
  type FolderHistory,
  type IdsRecord,
  lineOf,
  type Reader,
  type SectionText,
} from '../../source/source.ts';
import type { CounterRow, HistoryPoint, IdStore, StoreState } from '../../store/store.ts';
import {
  counterKey,
  decodeMeta,
  highestId,
  META,
  type SectionContent,
  type SectionMeta,
} from '../record/format.ts';
import { mayKnowMore, type Standing, standingOf } from '../record/standing.ts';
import type { Breach } from './continuity.ts';
import { seedsOf } from './counter-seeds.ts';
import { type Trust, trustOf } from './trust.ts';

/** What seeding did, for log and status. */
export interface Seeding {
  /**
   * `no-counters`: a first start, or the store was lost. `older-than-record`: the store was restored from a backup.
   * `another-store`: the devices may have been served from another store since. `other-history`: the store did not
   * follow the history of the head from its beginning.
   */
  cause: 'no-counters' | 'older-than-record' | 'another-store' | 'other-history';
  /** What was found in the record: only of `used` the ids were taken, and `damaged` could not be read. */
  record: 'used' | 'none' | 'damaged';
  /** The version of the section that was used, where that was another store's. */
  adopted: string | null;
  /** How many counters were seeded, and how many recorded contents keep their id. */
  names: number;
  kept: number;
  floor: number;
  /** Whether git could name everything that ever was; otherwise every name starts at the floor, also new ones. */
  historyIsComplete: boolean;
}

/** What was read of the record. */
export interface Sections {
  /** The section of the line; null where there is none. */
  own: SectionText | null;
  /** That of the line which the store comes from, where that is another one. */
  left: { line: string; text: SectionText | null } | null;
}

/** What seeding works with. */
export interface SeedContext {
  store: IdStore;
  reader: Reader;
  record: Pick<IdsRecord, 'line' | 'read' | 'readOfEach'>;
  sections: Sections;
  /** The head, and the line and repository that it is of. */
  from: HistoryPoint;
  /** What the head's history is to the store; null where the store has followed it. */
  breach: Breach | null;
  /** Unix milliseconds. */
  now: number;
}

/**
 * What was found in the record, and why it is taken over; null for a section that says nothing which the store does not
 * know.
 */
interface Found {
  standing: Standing;
  cause: Seeding['cause'];
  own: SectionContent | null;
  left: SectionContent | null;
}

/**
 * Gives every name of the past its floor when a store starts without counters, or with counters older than the recorded
 * ones (decisions, "Ids"), and when a head has a history that the store did not follow: whatever was served before, the
 * next id of such a name lies above it. Recorded contents that surely did not change since keep their ids. Resolves to
 * null where the store knows best itself.
 */
export async function seedStore(context: SeedContext): Promise<Seeding | null> {
  const { store, sections, breach } = context;
  const state = await store.state();
  const texts = [sections.own, sections.left?.text ?? null];
  if (state.seededFrom !== null && breach === null && !texts.some((text) => mayKnowMore(text, state)))
    return null;
  const found = findPast(context, state);
  if (found === null) return null;
  const metas = await readMetas(context.record);
  const left = found.left ?? (await findMoved(found.own, metas, context.record));
  return seed(context, { ...found, left }, metas);
}

/**
 * A store that comes from another folder or branch brings its devices along. What happened to it there, since the data
 * that it has were written, the section of that line knows.
 */
function findPast({ record, sections, breach }: SeedContext, state: StoreState): Found | null {
  const standing = standingOf(sections.own, record.line, state.fleet);
  const ofLeft = standingOf(sections.left?.text ?? null, sections.left?.line ?? '', state.fleet);
  const [cause, causeOfLeft] = [
    causeOf(state, standing),
    state.seededFrom !== null ? causeOf(state, ofLeft) : null,
  ];
  const first = cause ?? causeOfLeft ?? (breach === null ? null : 'other-history');
  if (first === null) return null;
  const own = cause === null ? null : sectionIn(standing);
  return { standing, cause: first, own, left: causeOfLeft === null ? null : sectionIn(ofLeft) };
}

/** What all sections say of themselves. */
async function readMetas(record: SeedContext['record']): Promise<SectionMeta[]> {
  return (await record.readOfEach(META)).map(decodeMeta).filter((meta) => meta !== null);
}

/**
 * What is recorded where the store that wrote the section of this line went on later: its devices went along, and may
 * have come back. Without rows where that cannot be read.
 */
async function findMoved(
  own: SectionContent | null,
  metas: readonly SectionMeta[],
  record: SeedContext['record'],
): Promise<SectionContent | null> {
  if (own === null) return null;
  const { fleet, idSequence } = own.meta;
  const moved = metas.find(
    (meta) => meta.fleet === fleet && lineOf(meta) !== record.line && meta.idSequence > idSequence,
  );
  if (moved === undefined) return null;
  const line = lineOf(moved);
  return sectionIn(standingOf(await record.read(line), line, fleet)) ?? { meta: moved, rows: [] };
}

/**
 * A lost store has a new fleet, and so has the store that followed one which was restored later: the record of
 * another store about the same line may be that of the same devices, and the higher of both ids is right for all.
 */
function causeOf({ seededFrom, idSequence }: StoreState, standing: Standing): Seeding['cause'] | null {
  if (seededFrom === null) return 'no-counters';
  if (standing.kind === 'another') return 'another-store';
  const isOlder = standing.kind === 'ours' && standing.section.meta.idSequence > idSequence;
  return isOlder ? 'older-than-record' : null;
}

async function seed(
  context: SeedContext,
  found: Found,
  metas: readonly SectionMeta[],
): Promise<Seeding | null> {
  const { store, reader, from, breach } = context;
  const { standing, cause, own, left } = found;
  const recorded = own?.rows ?? [];
  const history = await reader.history();
  const stored = await store.counters(0);
  const floor = floorAbove(context, history, [stored, recorded], metas);
  const isTrusted = await trustIn(found, context);
  const scope = cause === 'other-history' || breach === 'retake' ? breach : null;
  const past = { paths: history.paths, stored, recorded, left: left?.rows ?? [], scope: scope ?? 'raise' };
  const seeds = await seedsOf(past, isTrusted, floor);
  const { isComplete } = history;
  const idSequence = Math.max(...[own, left].map((one) => one?.meta.idSequence ?? 0));
  await store.seedCounters({ seeds, idSequence, floorOfOthers: isComplete ? 0 : floor, from });
  if (cause === 'other-history' && seeds.length === 0) return null;
  return {
    cause,
    record: foundAs(found),
    adopted: standing.kind === 'another' ? standing.version : null,
    names: seeds.length,
    kept: recorded.filter((row) => row.hash !== null && isTrusted(counterKey(row))).length,
    floor,
    historyIsComplete: isComplete,
  };
}

/** Where devices can have come from two lines, neither section knows all that they can have seen. */
async function trustIn({ own, left }: Found, { from, reader }: SeedContext): Promise<Trust> {
  return own === null || left !== null ? () => false : trustOf(own, from.revision, reader);
}

function foundAs({ standing, own, left }: Found): Seeding['record'] {
  if (own !== null || left !== null) return 'used';
  return standing.kind === 'damaged' || standing.kind === 'newer' ? 'damaged' : 'none';
}

function sectionIn(standing: Standing): SectionContent | null {
  return 'section' in standing ? standing.section : null;
}

/**
 * Above what any line of the repository has: the devices can have been served from another folder or branch before, by
 * a store that is lost. Only the floor knows of those; an id of another line says nothing about what the devices of
 * this one saw before it was given.
 */
function floorAbove(
  { now }: SeedContext,
  { newestCommit }: FolderHistory,
  [stored, recorded]: readonly [readonly CounterRow[], readonly CounterRow[]],
  metas: readonly SectionMeta[],
): number {
  // One more than the recorded id may have been given before the store was lost.
  const highest = Math.max(
    highestId(stored),
    highestId(recorded) + 1,
    ...metas.map((meta) => meta.highest + 1),
  );
  return startFloor({ now: Math.floor(now / 1000), newestCommit, highestId: highest });
}
