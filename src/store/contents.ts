import type { FileOrigin } from '../plan/step.ts';
import type { Kind } from '../protocol/name.ts';
import type { OperationEntry } from './operation.ts';
import type { StoredCounter } from './rules/work.ts';
import type { StoreState } from './store.ts';

/** The part of a store that is not in rows: its state. */
export interface ContentsState extends Omit<StoreState, 'mark'> {
  /** The revision of the last claim (`claimHead`). */
  claimed: string | null;
  /** The floor of every name without a counter. */
  defaultFloor: number;
  /** The highest `_id` that was ever given to an object or a report. */
  lastOid: string | null;
}

export interface ContentsCounter extends StoredCounter {
  /** The store's `idSequence` at the last change of this counter. */
  changed: number;
}

/** An app or group, which may be deleted, with its counters. */
export interface ContentsObject {
  /** Such as `app/web`. Rows are in ascending order of their keys. */
  key: string;
  kind: Kind;
  name: string;
  /** The counter of `app_id` or `device_group_id`. While the object is stored, its id is the counter's `last`. */
  own: ContentsCounter | null;
  /** The counter of a group's `prune_id`. */
  prune: ContentsCounter | null;
  /** Null for a deleted object. `content` is JSON text, which preserves the order of keys, and any key. */
  stored: { oid: string; content: string; hash: string; origin: FileOrigin | null } | null;
}

export interface ContentsReport {
  oid: string;
  /** The time of arrival, in Unix milliseconds. */
  arrived: number;
  /** JSON. */
  body: string;
}

/**
 * Reads everything in a store. Rows are read in pages of at most `limit`, in ascending order of `key`, `id` or `oid`;
 * `after` is that of the last row of the page before, or null for the first page.
 */
export interface Contents {
  state(): Promise<ContentsState>;
  objects(after: string | null, limit: number): Promise<ContentsObject[]>;
  operations(after: number | null, limit: number): Promise<OperationEntry[]>;
  reports(after: string | null, limit: number): Promise<ContentsReport[]>;
  close(): Promise<void>;
}

/** The parts of a store that are copied as rows, in the order of the copy. */
export const PARTS = ['objects', 'operations', 'reports'] as const;
export type Part = (typeof PARTS)[number];

/** How many rows of a part were copied, and the `key`, `id` or `oid` of the last; null if there are none. */
export interface Reached<Place> {
  rows: number;
  last: Place | null;
}

/** How many rows of each part were copied. */
export interface ReachedParts {
  objects: Reached<string>;
  operations: Reached<number>;
  reports: Reached<string>;
}

/**
 * A store that is being filled. Each row must be put once, in ascending order. Whenever that is interrupted, no row before
 * the last stored one is missing.
 */
export interface ContentsTarget extends Contents {
  /**
   * Begins to copy a store with this state. An unfinished copy is continued if it was begun from exactly the same state,
   * and otherwise started over. Managers refuse the target until `finish`. Rejects as `invalid` if the target already
   * contains a store, or an unfinished copy of another fleet's store.
   */
  begin(state: ContentsState): Promise<void>;
  /** Resolves to the rows that were copied so far. */
  reached(): Promise<ReachedParts>;
  /** Deletes all rows. */
  clear(): Promise<void>;
  putObjects(rows: readonly ContentsObject[]): Promise<void>;
  putOperations(rows: readonly OperationEntry[]): Promise<void>;
  putReports(rows: readonly ContentsReport[]): Promise<void>;
  /** Stores the state, and makes the target a store that managers can use. */
  finish(state: ContentsState): Promise<void>;
}
