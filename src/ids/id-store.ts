import type { Kind } from '../protocol/name.ts';

/** A commit and the history that it belongs to. */
export interface HistoryPoint {
  /** Identifies a fleet in its repository: the folder, and the branch if a setting names one. */
  line: string;
  /** Identifies the repository: a hash of its location. */
  source: string;
  /** The head of the branch; null if it had no commit. */
  revision: string | null;
}

/** The state of the ids in a store. Times are Unix milliseconds. */
export interface IdState {
  applied: { revision: string; at: number } | null;
  /** The identity of the fleet that this store belongs to: 32 hex digits, made with the store. */
  fleet: string;
  /** The history from which `seedCounters` last took ids; null if the store was never seeded. */
  seededFrom: HistoryPoint | null;
  /** Rises with every call that changes a counter. The record of ids outside the store also contains it. */
  idSequence: number;
}

/** Which id a counter gives: an app's `app_id`, a group's `device_group_id` or `prune_id`, or a device's `device_id`. */
export type CounterKind = Kind | 'prune';

/** Returns the kind of the objects that have such a counter. */
export function kindOfCounter(counter: CounterKind): Kind {
  return counter === 'prune' ? 'device_group' : counter;
}

/** A counter as the record of ids outside the store holds it. Deleted objects keep theirs. */
export interface CounterRow {
  kind: CounterKind;
  name: string;
  /** The highest id that was ever given. */
  last: number;
  /** `contentHash` of the content that has this id; null for deleted objects and for `prune`. */
  hash: string | null;
}

/** A counter from a history, and the lower bound of its next id. */
export interface CounterSeed extends CounterRow {
  floor: number;
}

/** The ids that were given before, as a history or the record of ids shows them. */
export interface SeedBatch {
  seeds: readonly CounterSeed[];
  /** The store's `idSequence` becomes higher than this one. */
  idSequence: number;
  /** The floor of every name without a counter, now and later: for a history that cannot name all earlier objects. */
  defaultFloor?: number;
  /** The history that the seeds come from. */
  from: HistoryPoint;
}

/**
 * The counters of ids in a store, which the record of ids preserves for the case that the store is lost. Every method
 * rejects as `unavailable` if the store cannot be reached.
 */
export interface IdStore {
  state(): Promise<IdState>;
  /**
   * Merges earlier ids into the counters, and sets `seededFrom`. The `last` and `floor` of each seeded counter become
   * the higher of the stored and the seed's value, so a stored group's prune id rises to the seed's `last`. Every
   * counter counts as changed.
   *
   * A stored app or group is outdated if its id is below the seed's `last`, or equal to it while the seed has the hash
   * of another content. If its content has the seed's hash, `last` becomes its id. Otherwise it is dropped, and the
   * next pass applies it again; until that `apply`, no revision is applied (`state().applied` is null).
   *
   * The seed's `hash` is kept for the next `apply` if the object is not stored, or is dropped, and the seed's `last` is
   * higher than the counter's. If both are equal, but their hashes differ, none is kept: the id was given twice.
   */
  seedCounters(batch: SeedBatch): Promise<void>;
  /** Resolves to the counters that changed after this `idSequence`; 0 returns all. */
  counters(sinceIdSequence: number): Promise<CounterRow[]>;
}
