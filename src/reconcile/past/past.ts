import type { Head, IdsRecord } from '../../source/source.ts';
import type { HistoryPoint, StoreState } from '../../store/store.ts';
import type { PassDependencies } from '../pass/dependencies.ts';
import { type Breach, findBreach } from './continuity.ts';
import { type Sections, type Seeding, seedStore } from './seed.ts';

/** What was served before this process, as far as it decides ids. */
export interface Past {
  /**
   * Seeds the store from what is known of the past: at the first call, and where that was before origin was reached,
   * again at the first call after that; and at every later head whose history the store did not follow. `state` was
   * read before the head. Resolves to whether anything was taken over: what was read from the store before is outdated
   * then.
   */
  takeOver(head: Head, state: StoreState): Promise<boolean>;
  /**
   * Says that this process makes the first commit of a branch: what descends from it was never served before. Resolves
   * to null where it came to nothing; never rejects.
   */
  began(revision: Promise<string | null>): void;
  /** What was taken over; returned once. */
  tell(): Seeding | null;
}

export function createPast(dependencies: PassDependencies): Past {
  const { reader, record, now, faults, onSeeded } = dependencies;
  const versions = createVersions(record);
  let last: string | null = null;
  const begun: Promise<string | null>[] = [];
  let emptySince: number | null = null;
  let comesFrom: string | null = null;
  let untold: Seeding | null = null;

  const breachAt = async (now: HistoryPoint, state: StoreState): Promise<Breach | null> => {
    const { revision } = now;
    if (revision === null) return null;
    const seen = [last, ...(await Promise.all(begun))].filter((one) => one !== null);
    return findBreach({ reader, state, now: { ...now, revision }, seen, emptySince });
  };

  /** Seeds where the record has a version that was not taken into account, or where the history was not followed. */
  const seed = async (from: HistoryPoint, breach: Breach | null): Promise<Seeding | null> => {
    const { sections, isNew, settle } = await versions.read(comesFrom ?? record.line);
    const parts = { ...dependencies, sections, from, breach, now: now() };
    const seeding = isNew || breach !== null ? await seedStore(parts) : null;
    settle();
    if (seeding === null) return null;
    untold = seeding;
    onSeeded();
    faults.pass('seed-done');
    return seeding;
  };

  return {
    takeOver: async (head, state) => {
      if (head.revision === null) emptySince ??= now();
      comesFrom ??= state.seededFrom?.line ?? record.line;
      const isNewHead = head.revision !== null && head.revision !== last;
      if (!versions.isDue() && !isNewHead) return false;
      const { line, source } = record;
      const from = { line, source, revision: head.revision };
      const breach = await breachAt(from, state);
      const seeding = versions.isDue() || breach !== null ? await seed(from, breach) : null;
      last = head.revision;
      return seeding !== null;
    },
    began: (revision) => void begun.push(revision),
    tell: () => {
      const seeding = untold;
      untold = null;
      return seeding;
    },
  };
}

/** Which versions of the sections were taken into account. */
interface Versions {
  /** Whether the record is to be read: for the first time, or for the first time since origin was reached. */
  isDue(): boolean;
  /**
   * `comesFrom` is the line that the store followed when this process began. `settle` says that what was read is taken
   * into account; `isNew`: it was not yet.
   */
  read(comesFrom: string): Promise<{ sections: Sections; isNew: boolean; settle(): void }>;
}

function createVersions(record: IdsRecord): Versions {
  let isTaken = false;
  /** What was taken into account before origin was reached; undefined before anything was. */
  let guessed: string | undefined;
  return {
    isDue: () => !isTaken && (guessed === undefined || record.isCurrent()),
    read: async (comesFrom) => {
      // Asked first: what is read afterwards is at least as new.
      const isCurrent = record.isCurrent();
      // Read before the store is: ids that rise meanwhile must not make it look older than its own record.
      const own = await record.read();
      const isLeft = comesFrom !== record.line && !isTaken;
      const left = isLeft ? { line: comesFrom, text: await record.read(comesFrom) } : null;
      const version = JSON.stringify([own?.version, left?.text?.version]);
      const settle = (): void => {
        guessed = version;
        isTaken ||= isCurrent;
      };
      return { sections: { own, left }, isNew: version !== guessed, settle };
    },
  };
}
