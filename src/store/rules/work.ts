import type { AppDefaults } from '../../desired/app.ts';
import type { Kind } from '../../desired/name.ts';
import type { Counter } from '../../plan/ids.ts';
import type { FileOrigin } from '../../plan/step.ts';
import type { NewOid } from '../object-id.ts';
import type { CounterKind, HistoryPoint, NewOperation } from '../store.ts';
import type { ObjectRow } from './rows.ts';

/** What a step says of an object, ready to be kept. */
export interface ObjectContent {
  /** JSON. */
  content: string;
  hash: string;
  origin: FileOrigin | null;
}

/** A counter as it is kept; `hash` is the record's hash of an object that is not stored. */
export interface KeptCounter extends Counter {
  hash: string | null;
}

/**
 * What the rules of `Store` change. The rules say what happens to objects, counters and state; each store makes it
 * atomic.
 */
export interface Work {
  state: StateWork;
  objects: ObjectWork;
  counters: CounterWork;
  operations: OperationWork;
  /** Makes the `_id` of objects; whoever uses it keeps the last one with `state.setLastOid`. */
  newOid: NewOid;
  /** Values of fields that are younger than a stored app. */
  defaults: AppDefaults;
}

export interface StateWork {
  /** How many claims there were, and the revision of the last one. */
  lastClaim(): { sequence: number; claimed: string | null };
  /** Counts one more claim. */
  claim(revision: string): void;
  setAttempted(revision: string, at: number): void;
  /** Takes the next number above the stored one and `above`, and keeps it. */
  nextIdSequence(above?: number): number;
  /** The applied revision; null before the first. */
  revision(): string | null;
  setApplied(revision: string, at: number, rules: string): void;
  clearApplied(): void;
  setLastOid(oid: string): void;
  /** `floorOfOthers` is the floor of every name without a counter; it only rises. */
  setSeeded(from: HistoryPoint, floorOfOthers: number): void;
}

/** Objects; the id of a stored one is the `last` of its counter. */
export interface ObjectWork {
  find(kind: Kind, name: string): ObjectRow | undefined;
  /** Names in ascending order. */
  groupNames(): string[];
  insert(kind: Kind, name: string, oid: string, object: ObjectContent): void;
  update(kind: Kind, name: string, object: ObjectContent): void;
  setOrigin(kind: Kind, name: string, origin: FileOrigin | null): void;
  /** Whether there was such an object. */
  remove(kind: Kind, name: string): boolean;
}

/** `changed` is the id sequence of the work that is under way. */
export interface CounterWork {
  /** The counter; a fresh one for a name that never was. */
  get(kind: CounterKind, name: string): KeptCounter;
  put(kind: CounterKind, name: string, counter: KeptCounter, changed: number): void;
  /** The stored object carries the hash from now on. No change: the row that others read stays the same. */
  handOverHash(kind: CounterKind, name: string): void;
  /** Marks some of those that do not carry this number yet; tells whether there were any. */
  markSomeChanged(changed: number): boolean;
}

export interface OperationWork {
  add(entry: NewOperation): void;
}
