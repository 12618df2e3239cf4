import type { Act } from '../act.ts';
import type { EntryBatch, EntryPage, EntryQuery, HistoryState, ListedEntry } from '../entry.ts';

/**
 * Acts, which `apply` and the operations write as a part of their own writes, and the entries of the history, which are made
 * from it and from git.
 */
export interface HistoryStore {
  /** Resolves to the first act after this number; null if there is none. */
  nextAct(after: number): Promise<Act | null>;
  /** How far the history is indexed; null if that has not begun. */
  historyState(): Promise<HistoryState | null>;
  /**
   * Rejects as `unavailable` while so little space is free that the rest of the store needs it: entries of older commits leave
   * as much as reports do, new ones half of that.
   */
  requireRoom(part: 'older' | 'new'): Promise<void>;
  /** Adds entries, moves the state on, and deletes the acts up to its `act`. Resolves to false, and changes nothing, if the state is not the expected one. */
  addEntries(batch: EntryBatch): Promise<boolean>;
  /** Resolves to the entries with an `n` below `before` (null: all) that match, newest first, at most `limit`. */
  entries(query: EntryQuery, before: number | null, limit: number): Promise<EntryPage>;
  /** Resolves to an entry with all of its changes; null if there is none of this number. */
  entry(n: number): Promise<ListedEntry | null>;
  /** Resolves to the first entry that one of these objects has since this id sequence of the store; null if there is none. */
  firstSince(idSequence: number, objects: readonly string[]): Promise<ListedEntry | null>;
  /** Resolves to the revision that was applied last before this id sequence; null if that is not known. */
  revisionBefore(idSequence: number): Promise<string | null>;
  /** Resolves to the revision of an entry that begins with these digits; null if it is none, or not the only one. */
  revisionOf(prefix: string): Promise<string | null>;
}
