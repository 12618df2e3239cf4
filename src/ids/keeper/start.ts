import type { HistoryPoint, IdState, IdStore } from '../id-store.ts';
import type { IdsReader } from '../ids-reader.ts';
import type { RecordRef, RecordVersion } from '../record-ref.ts';
import { type Discontinuity, findDiscontinuity } from '../seeding/continuity.ts';
import { type Seeding, seedStore } from '../seeding/seed.ts';

/** What a start works with. */
export interface StartDependencies {
  reader: IdsReader;
  record: RecordRef;
  store: IdStore;
  /** Unix milliseconds. */
  now(): number;
  /** Called with each version that the store of this fleet takes into account from now on; null: there is none. */
  onTaken(version: RecordVersion | null, fleet: string): void;
}

/** Decides when the store has to take over ids that were given before. */
export interface Start {
  /**
   * Resolves to what a seeding did, if the record has to be read (for the first time, or for the first time since origin was
   * reached) or `isFollowed` and the head is of a history that the store has not followed; otherwise to null.
   */
  seed(head: string | null, state: IdState, isFollowed: boolean): Promise<Seeding | null>;
  /** See `Keeper.addFirstCommit`. */
  addFirstCommit(revision: Promise<string | null>): void;
}

export function createStart(dependencies: StartDependencies): Start {
  const { reader, record, now } = dependencies;
  const taking = createTaking(dependencies);
  const firstCommits: Promise<string | null>[] = [];
  let lastHead: string | null = null;
  let emptySince: number | null = null;

  const discontinuityAt = async (head: HistoryPoint, state: IdState): Promise<Discontinuity | null> => {
    const { revision } = head;
    if (revision === null) return null;
    const followed = [lastHead, ...(await Promise.all(firstCommits))].filter((each) => each !== null);
    const context = { reader, state, head: { ...head, revision }, emptySince };
    return findDiscontinuity({ ...context, followed, isKnownSource: lastHead !== null });
  };

  return {
    addFirstCommit: (revision) => void firstCommits.push(revision),
    seed: async (revision, state, isFollowed) => {
      if (revision === null && !isFollowed) emptySince ??= now();
      if (isFollowed ? revision === null || revision === lastHead : !taking.isDue()) return null;
      const head = { line: record.line, source: record.source, revision };
      const discontinuity = await discontinuityAt(head, state);
      const isNeeded = taking.isDue() || discontinuity !== null;
      const seeding = isNeeded ? await taking.take(head, state, discontinuity) : null;
      lastHead = revision;
      return seeding;
    },
  };
}

/** Which version of the record was taken into account. */
interface Taking {
  /** Whether the record has to be read. */
  isDue(): boolean;
  /** Reads the record, and seeds the store if it is the first, another version than before, or there is a discontinuity. */
  take(head: HistoryPoint, state: IdState, discontinuity: Discontinuity | null): Promise<Seeding | null>;
}

function createTaking({ reader, record, store, now, onTaken }: StartDependencies): Taking {
  /** The tip that was taken into account; undefined if the record was not read yet. */
  let taken: string | null | undefined;
  /** Whether it was read after origin was reached: then the record is not due again. */
  let isFromOrigin = false;

  return {
    isDue: () => !isFromOrigin && (taken === undefined || record.isCurrent()),
    take: async (head, { fleet }, discontinuity) => {
      // Asked before the record is read: that is at least as new as the answer.
      const isCurrent = record.isCurrent();
      // Read before the store: ids that rise meanwhile must not make it look older than its own record.
      const version = await record.read();
      const tip = version?.tip ?? null;
      const isReread = taken !== undefined && tip !== taken;
      const isNew = taken === undefined || isReread || discontinuity !== null;
      const context = { store, reader, version, isReread, head, discontinuity, now: now() };
      const seeding = isNew ? await seedStore(context) : null;
      taken = tip;
      isFromOrigin ||= isCurrent;
      onTaken(version, fleet);
      return seeding;
    },
  };
}
