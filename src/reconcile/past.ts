import type { Faults } from '../faults.ts';
import { type SeedContext, type Seeding, seedStore } from './seed.ts';

/** What was served before this process, as far as it decides ids. */
export interface Past {
  /** Seeds the store, once in the life of a process; `head` is the revision that the branch is at. */
  takeOver(head: string | null): Promise<void>;
  /** What was taken over; told once. */
  tell(): Seeding | null;
}

export function createPast({
  store,
  reader,
  record,
  now,
  faults,
}: Omit<SeedContext, 'head' | 'now'> & { now(): number; faults: Faults }): Past {
  let isTaken = false;
  let untold: Seeding | null = null;
  return {
    takeOver: async (head) => {
      if (isTaken) return;
      untold = await seedStore({ store, reader, record, head, now: now() });
      if (untold !== null) faults.pass('seed-done');
      isTaken = true;
    },
    tell: () => {
      const seeding = untold;
      untold = null;
      return seeding;
    },
  };
}
