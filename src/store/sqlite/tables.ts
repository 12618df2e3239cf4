import type { AppDefaults } from '../../protocol/app.ts';
import type { Database } from '../../sqlite/connection.ts';
import { type NewOid, oidGenerator } from '../object-id.ts';
import { ActReads, Acts } from './acts.ts';
import { CounterReads, Counters } from './counters.ts';
import { History, HistoryReads } from './history.ts';
import { ObjectReads } from './object-reads.ts';
import { Objects } from './objects.ts';
import { StateReads, StateWrites } from './state.ts';

/** Everything that changes the database, on the writer's connection. */
export interface Writes {
  state: StateWrites;
  objects: Objects;
  counters: Counters;
  acts: Acts;
  history: History;
  /** Makes the `_id` of objects and reports. The caller must store the last one by `state.setLastOid`. */
  newOid: NewOid;
  /** The values of fields that were added to the product after an app was stored. */
  defaults: AppDefaults;
}

/** Everything that reads the database, on the reader's connection. */
export interface Reads {
  state: StateReads;
  objects: ObjectReads;
  counters: CounterReads;
  acts: ActReads;
  history: HistoryReads;
}

/** Prepares everything that changes the database. `random` returns so many random bytes. */
export function prepareWrites(
  db: Database,
  defaults: AppDefaults,
  random: (size: number) => Uint8Array,
): Writes {
  const state = new StateWrites(db);
  const acts = new Acts(db);
  return {
    state,
    objects: new Objects(db),
    counters: new Counters(db),
    acts,
    history: new History(db, acts),
    newOid: oidGenerator(random, state.lastOid()),
    defaults,
  };
}

/** Prepares everything that reads the database. */
export function prepareReads(db: Database, defaults: AppDefaults): Reads {
  return {
    state: new StateReads(db),
    objects: new ObjectReads(db, defaults),
    counters: new CounterReads(db),
    acts: new ActReads(db),
    history: new HistoryReads(db),
  };
}
