import type { Counter } from '../ids/counter.ts';
import type { CounterKind, HistoryPoint } from '../ids/id-store.ts';
import type { FileOrigin } from '../plan/step.ts';
import type { Kind } from '../protocol/name.ts';

/** What a store keeps beside its objects. Times are Unix milliseconds. */
export interface FleetState {
  /** See `StoreState`, also for `sequence`, `attempted`, `applied`, `rules` and `idSequence`. */
  fleet: string;
  sequence: number;
  /** The revision of the last claim. */
  claimed: string | null;
  attempted: { revision: string; at: number } | null;
  applied: { revision: string; at: number } | null;
  rules: string | null;
  seededFrom: HistoryPoint | null;
  /** The floor of every name without a counter. */
  defaultFloor: number;
  idSequence: number;
  /** Every counter that changed earlier counts as changed at this id sequence. */
  allChanged: number;
  /** The highest `_id` that was ever given to an object or a report. */
  lastOid: string | null;
}

/** A counter as stores hold it. */
export interface StoredCounter extends Counter {
  /** The seeded hash of an object that is not stored; otherwise null. */
  hash: string | null;
  /** The id sequence of its last change. */
  changed: number;
}

/** An object with its counters, which outlive it. */
export interface FleetObject {
  kind: Kind;
  name: string;
  /** The counter of `app_id`, `device_group_id` or `device_id`. While the object is stored, its id is the counter's `last`. */
  own: StoredCounter | null;
  /** The counter of a group's `prune_id`. */
  prune: StoredCounter | null;
  /** Null for a deleted object. `content` is JSON text, which preserves the order of keys, and any key. */
  stored: { oid: string; content: string; hash: string; origin: FileOrigin | null } | null;
}

/** An object that is applied. */
export type AppliedRow = FleetObject & { stored: NonNullable<FleetObject['stored']> };

/** Whether an object is applied. */
export function isApplied(object: FleetObject | undefined): object is AppliedRow {
  return object !== undefined && object.stored !== null;
}

/** Where an object has the counter of this kind. */
export function placeOf(counter: CounterKind): 'own' | 'prune' {
  return counter === 'prune' ? 'prune' : 'own';
}
