import type { Kind } from '../desired/name.ts';
import type { FileOrigin } from '../plan/step.ts';
import type { KeptCounter } from './rules/work.ts';
import type { OperationEntry, StoreState } from './store.ts';

/** What a store holds once, beside its rows. */
export interface ContentsHead extends Omit<StoreState, 'mark'> {
  /** The revision of the last claim. */
  claimed: string | null;
  floorOfOthers: number;
  /** The highest `_id` that was ever given. */
  lastOid: string | null;
}

export interface ContentsCounter extends KeptCounter {
  /** The id sequence of its last change. */
  changed: number;
}

/** An app or a group that is or was, with its counters. */
export interface ContentsObject {
  /** `app/web`: rows come in ascending order of it. */
  key: string;
  kind: Kind;
  name: string;
  /** The counter of `app_id` or `device_group_id`; while the object is stored, its id is `last`. */
  own: ContentsCounter | null;
  /** The counter of a group's `prune_id`. */
  prune: ContentsCounter | null;
  /** `content` is JSON: as text it keeps its order and every name of a key. */
  stored: { oid: string; content: string; hash: string; origin: FileOrigin | null } | null;
}

export interface ContentsReport {
  oid: string;
  /** Unix milliseconds. */
  arrived: number;
  /** JSON. */
  body: string;
}

/** Everything that a store holds, in pages: each in ascending order, from after the given place (null: the first). */
export interface Contents {
  head(): Promise<ContentsHead>;
  objects(after: string | null, limit: number): Promise<ContentsObject[]>;
  operations(after: number | null, limit: number): Promise<OperationEntry[]>;
  reports(after: string | null, limit: number): Promise<ContentsReport[]>;
  close(): Promise<void>;
}

/** The parts of a store, in the order in which they are copied; each is also the name of the method that reads it. */
export const PARTS = ['objects', 'operations', 'reports'] as const;
export type Part = (typeof PARTS)[number];

/** How far a part is there: so many rows, up to this one. */
export interface Reached<Place> {
  rows: number;
  last: Place | null;
}

/** How far each part is there. */
export interface ReachedParts {
  objects: Reached<string>;
  operations: Reached<number>;
  reports: Reached<string>;
}

/**
 * A store that is being filled. Rows are put in ascending order. Where that is interrupted at any moment, all rows up to the
 * last one that is there are there. Putting the same rows again changes nothing.
 */
export interface ContentsTarget extends Contents {
  /**
   * Begins the copy of a store with this head, or goes on with what was begun from the very same head; what was begun from
   * another head is dropped first. No manager uses the store until `finish`. Rejects as `invalid` where there is a store
   * already, or the unfinished copy of another fleet's.
   */
  begin(head: ContentsHead): Promise<void>;
  reached(): Promise<ReachedParts>;
  /** Drops all rows. */
  clear(): Promise<void>;
  putObjects(rows: readonly ContentsObject[]): Promise<void>;
  putOperations(rows: readonly OperationEntry[]): Promise<void>;
  putReports(rows: readonly ContentsReport[]): Promise<void>;
  finish(head: ContentsHead): Promise<void>;
}
