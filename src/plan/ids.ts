/** What is remembered of one kind of id of one name. It is kept for ever, also when the object is deleted. */
export interface Counter {
  /** The highest id that was ever given out; 0 for a new name. */
  last: number;
  /** Lower bound of the next id; 0 except for names that were known when a store started without (or with old) counters. */
  floor: number;
}

/** The counter of a new name. */
export const FRESH_COUNTER: Counter = { last: 0, floor: 0 };

/** Keeps ids well below 2^53, up to which numbers are exact for every reader of JSON. */
const MAX_FLOOR = 2 ** 50;

/** The id that comes next. The rules of ids that devices depend on are in docs/ids.md. */
export function nextId(counter: Counter): number {
  return Math.max(counter.last + 1, counter.floor);
}

/** The counter once its next id is given out. */
export function raise(counter: Counter): Counter {
  return { last: nextId(counter), floor: counter.floor };
}

/** What a start without counters, or with old ones, knows of the ids that devices may have seen. */
export interface KnownPast {
  /** Unix time of the start, in seconds. */
  now: number;
  /** Unix time of the newest commit, in seconds; 0 if there is none. */
  newestCommit: number;
  /** The highest id in the record and the store; 0 if there is none. */
  highestId: number;
}

/**
 * The floor of every known name after such a start. Ids grow far slower than one a second, so the present time is above
 * every id that was ever served. The other two bounds help when the clock was set back.
 */
export function startFloor({ now, newestCommit, highestId }: KnownPast): number {
  const floor = Math.max(now, newestCommit, highestId + 1);
  return Math.min(Math.ceil(floor), Math.max(MAX_FLOOR, highestId + 1));
}
