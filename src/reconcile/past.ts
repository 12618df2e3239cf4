import type { Faults } from '../faults.ts';
import type { Head, IdsRecord, Reader, SourceOrigin } from '../source/source.ts';
import type { Followed, Store, StoreState } from '../store/store.ts';
import { type Breach, findBreach } from './continuity.ts';
import { type Seeding, seedStore } from './seed.ts';

/** What was served before this process, as far as it decides ids. */
export interface Past {
  /**
   * Seeds the store at the first look of a process, and at every later head whose history the store did not follow. `state` was
   * read before the head. Resolves to whether anything was taken over; what was read from the store before is outdated then.
   */
  takeOver(head: Head, state: StoreState): Promise<boolean>;
  /**
   * Says that this process makes the first commit of a branch: what descends from it was never served before. Resolves to null
   * where it came to nothing; never rejects.
   */
  began(revision: Promise<string | null>): void;
  /** What was taken over; told once. */
  tell(): Seeding | null;
}

/** What the past is looked up in. */
export interface PastDependencies {
  store: Store;
  reader: Reader;
  record: IdsRecord;
  origin: SourceOrigin | null;
  /** Unix milliseconds. */
  now(): number;
  faults: Faults;
}

export function createPast({ store, reader, record, origin, now, faults }: PastDependencies): Past {
  let isTaken = false;
  let last: string | null = null;
  const begun: Promise<string | null>[] = [];
  let emptySince: number | null = null;
  let untold: Seeding | null = null;

  const breachAt = async (followed: Followed, state: StoreState): Promise<Breach | null> => {
    const { revision } = followed;
    if (revision === null || !state.seeded) return null;
    const seen = [last, ...(await Promise.all(begun))].filter((one) => one !== null);
    return findBreach({ reader, state, now: { ...followed, revision }, seen, emptySince });
  };

  return {
    takeOver: async (head, state) => {
      if (head.revision === null) emptySince ??= now();
      if (isTaken && (head.revision === null || head.revision === last)) return false;
      const followed = followedAt(head, record, origin);
      const breach = await breachAt(followed, state);
      const isDue = !isTaken || breach !== null;
      const seeding = isDue ? await seedStore({ store, reader, record, followed, breach, now: now() }) : null;
      if (seeding !== null) {
        untold = seeding;
        faults.pass('seed-done');
      }
      isTaken = true;
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

function followedAt(
  { revision, branch }: Head,
  { place, source }: IdsRecord,
  origin: SourceOrigin | null,
): Followed {
  // A checkout has all its branches; of a repository elsewhere there is only the one of the settings.
  return { line: origin === null ? place : `${place}:${branch}`, source, revision };
}
