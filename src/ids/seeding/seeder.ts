import type { Emit } from '../../events/hub.ts';
import type { Faults } from '../../faults.ts';
import type { HistoryPoint, IdState, IdStore } from '../id-store.ts';
import type { IdsReader } from '../ids-reader.ts';
import type { IdsRecord } from '../ids-record.ts';
import { findDiscontinuity } from './continuity.ts';
import type { CounterPolicy } from './counter-seeds.ts';
import { type SectionRead, type Seeding, seedStore } from './seed.ts';

/** What happens to a store at a start. */
export interface SeedingEvents {
  /**
   * The store was seeded: the ids of all objects may have risen. `isServed`: devices get them at once, since a revision was
   * applied before.
   */
  seeded: { isServed: boolean };
}

/** What a seeder works with. */
export interface SeederDependencies {
  reader: IdsReader;
  record: IdsRecord;
  store: IdStore;
  /** Unix milliseconds. */
  now(): number;
  faults: Faults;
  emit: Emit<SeedingEvents>;
}

/** Decides when the store has to take over ids that were given before, and seeds it with them. */
export interface Seeder {
  /**
   * Seeds the store if ids have to be taken over. Reads the record at the first call and, if origin was not reached
   * then, again at the first call after it was. `state` must have been read before the head. Resolves to whether any counter
   * got a seed: what was read from the store before is then outdated. Rejects as `unavailable`.
   */
  seedIfNeeded(head: { revision: string | null }, state: IdState): Promise<boolean>;
  /** Likewise if a head, which is to be applied now, is of a history that the store has not followed. */
  followHead(head: { revision: string | null }, state: IdState): Promise<boolean>;
  /**
   * Registers the first commit of a branch, which this process makes: no commit that descends from it was served before.
   * `revision` never rejects, and resolves to null if no commit is made.
   */
  addFirstCommit(revision: Promise<string | null>): void;
  /** Returns what the last seeding did, and null from then on until the next one; `recordVersion`: see `PassReport`. */
  takeSeeding(): { seeding: Seeding | null; recordVersion: string | null };
}

export function createSeeder(dependencies: SeederDependencies): Seeder {
  const { reader, record, now, faults, emit } = dependencies;
  const recordReads = createRecordReads(record);
  const firstCommits: Promise<string | null>[] = [];
  let lastHead: string | null = null;
  let emptySince: number | null = null;
  let unreported: Seeding | null = null;

  const discontinuityAt = async (head: HistoryPoint, state: IdState): Promise<CounterPolicy | null> => {
    const { revision } = head;
    if (revision === null) return null;
    const followed = [lastHead, ...(await Promise.all(firstCommits))].filter((each) => each !== null);
    const context = { reader, state, head: { ...head, revision }, emptySince };
    return findDiscontinuity({ ...context, followed, isKnownSource: lastHead !== null });
  };

  const seed = async (state: IdState, head: HistoryPoint, discontinuity: CounterPolicy | null) => {
    const { section, isNew, markUsed } = await recordReads.read();
    const context = { ...dependencies, section, head, discontinuity, now: now() };
    const seeding = isNew || discontinuity !== null ? await seedStore(context) : null;
    markUsed();
    if (seeding === null) return false;
    unreported = seeding;
    emit('seeded', { isServed: state.applied !== null });
    faults.pass('seed-done');
    return true;
  };

  const check = async (revision: string | null, state: IdState): Promise<boolean> => {
    const head = { line: record.line, source: record.source, revision };
    const discontinuity = await discontinuityAt(head, state);
    const isSeeded =
      recordReads.isDue() || discontinuity !== null ? await seed(state, head, discontinuity) : false;
    lastHead = revision;
    return isSeeded;
  };

  return {
    seedIfNeeded: async ({ revision }, state) => {
      if (revision === null) emptySince ??= now();
      return recordReads.isDue() && check(revision, state);
    },
    followHead: async ({ revision }, state) =>
      revision !== null && revision !== lastHead && check(revision, state),
    addFirstCommit: (revision) => void firstCommits.push(revision),
    takeSeeding: () => {
      const taken = { seeding: unreported, recordVersion: recordReads.usedVersion() };
      unreported = null;
      return taken;
    },
  };
}

/** Reads the section of the record, and remembers which version was taken into account. */
interface RecordReads {
  /** Whether the record has to be read: for the first time, or for the first time since origin was reached. */
  isDue(): boolean;
  /** Reads the section. `isNew`: this version was not used yet. `markUsed` remembers that it is. */
  read(): Promise<{ section: SectionRead; isNew: boolean; markUsed(): void }>;
  /** See `PassReport.recordVersion`. */
  usedVersion(): string | null;
}

function createRecordReads(record: IdsRecord): RecordReads {
  let isUsed = false;
  let usedVersion: string | null = null;
  /** Whether it was read after origin was reached: then the record is not due again. */
  let isUsedFromOrigin = false;
  return {
    usedVersion: () => usedVersion,
    isDue: () => !isUsedFromOrigin && (!isUsed || record.isCurrent()),
    read: async () => {
      // Asked before the section is read: that is at least as new as the answer.
      const isFromOrigin = record.isCurrent();
      // Read before the store: ids that rise meanwhile must not make it look older than its own record.
      const text = await record.read();
      const version = text?.version ?? null;
      const isNew = !isUsed || version !== usedVersion;
      const section = { text, isReread: isNew && isUsed };
      const markUsed = (): void => {
        isUsed = true;
        usedVersion = version;
        isUsedFromOrigin ||= isFromOrigin;
      };
      return { section, isNew, markUsed };
    },
  };
}
