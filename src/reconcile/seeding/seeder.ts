import type { Head, IdsRecord } from '../../source/source.ts';
import type { HistoryPoint, StoreState } from '../../store/store.ts';
import type { PassDependencies } from '../pass/dependencies.ts';
import { findDiscontinuity } from './continuity.ts';
import type { CounterPolicy } from './counter-seeds.ts';
import { type Sections, type Seeding, seedStore } from './seed.ts';

/** Decides when the store has to take over ids that were given before, and seeds it with them. */
export interface Seeder {
  /**
   * Seeds the store if ids have to be taken over. Reads the record at the first call and, if origin was not reached
   * then, again at the first call after it was; checks the history of every new head. `state` must have been read before
   * the head. Resolves to whether any counter got a seed: what was read from the store before is then outdated. Rejects as
   * `unavailable`.
   */
  seedIfNeeded(head: Head, state: StoreState): Promise<boolean>;
  /**
   * Registers the first commit of a branch, which this process makes: no commit that descends from it was served before.
   * `revision` never rejects, and resolves to null if no commit is made.
   */
  addFirstCommit(revision: Promise<string | null>): void;
  /** Returns what the last seeding did, and null from then on until the next one; `recordVersion`: see `PassReport`. */
  takeSeeding(): { seeding: Seeding | null; recordVersion: string | null };
}

export function createSeeder(dependencies: PassDependencies): Seeder {
  const { reader, record, now, faults, onSeeded } = dependencies;
  const recordReads = createRecordReads(record);
  const firstCommits: Promise<string | null>[] = [];
  let lastHead: string | null = null;
  let emptySince: number | null = null;
  /** The line that the store followed when this process began. */
  let initialLine: string | null = null;
  let unreported: Seeding | null = null;

  const discontinuityAt = async (head: HistoryPoint, state: StoreState): Promise<CounterPolicy | null> => {
    const { revision } = head;
    if (revision === null) return null;
    const followed = [lastHead, ...(await Promise.all(firstCommits))].filter((each) => each !== null);
    const context = { reader, state, head: { ...head, revision }, emptySince };
    return findDiscontinuity({ ...context, followed, isKnownSource: lastHead !== null });
  };

  const seed = async (state: StoreState, head: HistoryPoint, discontinuity: CounterPolicy | null) => {
    const { sections, isNew, markUsed } = await recordReads.read(initialLine ?? record.line);
    const context = { ...dependencies, sections, head, discontinuity, now: now() };
    const seeding = isNew || discontinuity !== null ? await seedStore(context) : null;
    markUsed();
    if (seeding === null) return false;
    unreported = seeding;
    onSeeded(state.applied !== null);
    faults.pass('seed-done');
    return true;
  };

  return {
    seedIfNeeded: async ({ revision }, state) => {
      if (revision === null) emptySince ??= now();
      initialLine ??= state.seededFrom?.line ?? record.line;
      const isNewHead = revision !== null && revision !== lastHead;
      if (!recordReads.isDue() && !isNewHead) return false;
      const head = { line: record.line, source: record.source, revision };
      const discontinuity = await discontinuityAt(head, state);
      const isSeeded =
        recordReads.isDue() || discontinuity !== null ? await seed(state, head, discontinuity) : false;
      lastHead = revision;
      return isSeeded;
    },
    addFirstCommit: (revision) => void firstCommits.push(revision),
    takeSeeding: () => {
      const taken = { seeding: unreported, recordVersion: recordReads.usedVersion() };
      unreported = null;
      return taken;
    },
  };
}

/** Reads the sections of the record, and remembers which versions of them were taken into account. */
interface RecordReads {
  /** Whether the record has to be read: for the first time, or for the first time since origin was reached. */
  isDue(): boolean;
  /**
   * Reads the section of the manager's line, and that of `initialLine` until a version from origin was used. `isNew`:
   * these versions were not used yet. `markUsed` remembers that they are.
   */
  read(initialLine: string): Promise<{ sections: Sections; isNew: boolean; markUsed(): void }>;
  /** See `PassReport.recordVersion`. */
  usedVersion(): string | null;
}

function createRecordReads(record: IdsRecord): RecordReads {
  /** The versions used last; null before the first. */
  let usedVersions: string | null = null;
  /** Whether they were read after origin was reached: then the record is not due again. */
  let isUsedFromOrigin = false;
  let usedVersion: string | null = null;
  return {
    usedVersion: () => usedVersion,
    isDue: () => !isUsedFromOrigin && (usedVersions === null || record.isCurrent()),
    read: async (initialLine) => {
      // Asked before the sections are read: they are at least as new as the answer.
      const isFromOrigin = record.isCurrent();
      // Sections are read before the store: ids that rise meanwhile must not make it look older than its own record.
      const own = await record.read();
      const hasPrevious = initialLine !== record.line && !isUsedFromOrigin;
      const previous = hasPrevious ? { line: initialLine, text: await record.read(initialLine) } : null;
      const versions = JSON.stringify([own?.version, previous?.text?.version]);
      const markUsed = (): void => {
        usedVersions = versions;
        usedVersion = own?.version ?? null;
        isUsedFromOrigin ||= isFromOrigin;
      };
      const isNew = versions !== usedVersions;
      return { sections: { own, previous, isReread: isNew && usedVersions !== null }, isNew, markUsed };
    },
  };
}
