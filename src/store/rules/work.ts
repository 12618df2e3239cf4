import type { Counter } from '../../ids/counter.ts';
import type { CounterKind, HistoryPoint } from '../../ids/id-store.ts';
import type { FileOrigin } from '../../plan/step.ts';
import type { AppDefaults } from '../../protocol/app.ts';
import type { Kind } from '../../protocol/name.ts';
import type { NewAct } from '../act.ts';
import type { NewOid } from '../object-id.ts';
import type { ObjectRow } from './rows.ts';

/** The part of a stored object that a step sets. */
export interface ObjectContent {
  /** JSON. */
  content: string;
  hash: string;
  origin: FileOrigin | null;
}

/** A counter as stores hold it. `hash` is the seeded hash of an object that is not stored; otherwise null. */
export interface StoredCounter extends Counter {
  hash: string | null;
}

/**
 * The operations of a store that the rules in this folder use. The rules decide how objects, counters and state change;
 * each store makes the changes of one call atomic.
 */
export interface Work {
  state: StateWork;
  objects: ObjectWork;
  counters: CounterWork;
  acts: ActWork;
  /** Makes the `_id` of objects. The caller must store the last one by `state.setLastOid`. */
  newOid: NewOid;
  /** The values of fields that were added to the product after an app was stored. */
  defaults: AppDefaults;
}

export interface StateWork {
  /** Returns the number of claims, and the revision of the last. */
  lastClaim(): { sequence: number; claimed: string | null };
  /** Counts a claim, and stores its revision. */
  claim(revision: string): void;
  setAttempted(revision: string, at: number): void;
  /** Returns the id sequence. */
  idSequence(): number;
  /** Raises the id sequence above its stored value and `above`, and returns it. */
  nextIdSequence(above?: number): number;
  /** Returns the applied revision; null if there is none. */
  appliedRevision(): string | null;
  setApplied(revision: string, at: number, rules: string): void;
  clearApplied(): void;
  setLastOid(oid: string): void;
  /** `defaultFloor` is the floor of every name without a counter. A lower value than the stored one has no effect. */
  setSeeded(from: HistoryPoint, defaultFloor: number): void;
}

/** Applied objects. The id of an object is the `last` of its counter. */
export interface ObjectWork {
  find(kind: Kind, name: string): ObjectRow | undefined;
  /** Returns names in ascending order. */
  groupNames(): string[];
  insert(kind: Kind, name: string, oid: string, object: ObjectContent): void;
  update(kind: Kind, name: string, object: ObjectContent): void;
  setOrigin(kind: Kind, name: string, origin: FileOrigin | null): void;
  /** Removes an object. Returns whether there was one. */
  remove(kind: Kind, name: string): boolean;
}

/** Counters of ids. `changed` is the id sequence of the current call. */
export interface CounterWork {
  /** Returns a counter; a fresh one for a name without a counter. */
  get(kind: CounterKind, name: string): StoredCounter;
  put(kind: CounterKind, name: string, counter: StoredCounter, changed: number): void;
  /**
   * Clears the hash, since the object that is now stored has it. Does not set `changed`: what `Store.counters` returns
   * stays the same.
   */
  clearHash(kind: CounterKind, name: string): void;
  /** Sets `changed` in some of the counters that have a lower value. Returns false if there were none. */
  markSomeChanged(changed: number): boolean;
}

export interface ActWork {
  /** Adds an act; at most one in a write. */
  add(act: NewAct): void;
}
