import type { Faults } from '../faults.ts';
import { type SeedContext, type Seeding, seedStore } from './seed.ts';

/** What was served before this process, as far as it decides ids. */
export interface Past {
  /**
   * Seeds the store from what is known of the past: at the first call, and where that was before origin was reached, again at the
   * first call after that; `head` is the revision that the branch is at. Resolves to whether anything was taken over: what
   * was read from the store before is outdated then.
   */
  takeOver(head: string | null): Promise<boolean>;
  /** What was taken over; told once. */
  tell(): Seeding | null;
}

export function createPast({
  store,
  reader,
  record,
  now,
  faults,
  onSeeded,
}: Omit<SeedContext, 'head' | 'now'> & { now(): number; faults: Faults; onSeeded(): void }): Past {
  let isTaken = false;
  /** The version of the record that was taken into account before origin was reached; undefined before any was. */
  let guessed: string | null | undefined;
  let untold: Seeding | null = null;

  return {
    takeOver: async (head) => {
      // Asked first: what is read afterwards is at least as new.
      const isCurrent = record.isCurrent();
      if (isTaken || (guessed !== undefined && !isCurrent)) return false;
      // Read before the store is: ids that rise meanwhile must not make it look older than its own record.
      const text = await record.read();
      const tip = text?.tip ?? null;
      const known = { ...record, read: async () => text };
      const seeding =
        tip === guessed ? null : await seedStore({ store, reader, record: known, head, now: now() });
      if (seeding !== null) {
        untold = seeding;
        onSeeded();
        faults.pass('seed-done');
      }
      guessed = tip;
      isTaken = isCurrent;
      return seeding !== null;
    },
    tell: () => {
      const seeding = untold;
      untold = null;
      return seeding;
    },
  };
}
