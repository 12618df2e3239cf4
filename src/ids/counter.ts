/** The counter of one kind of id of one name. It is kept forever, even after the object is deleted. */
export interface Counter {
  /** The highest id that was ever given out; 0 for a new name. */
  last: number;
  /**
   * Lower bound of the next id; 0, except for names that were known when a store started with lost or outdated
   * counters.
   */
  floor: number;
}

/** The counter of a new name. */
export const FRESH_COUNTER: Counter = { last: 0, floor: 0 };

/** Keeps ids well below 2^53, up to which numbers are exact for every reader of JSON. */
const MAX_FLOOR = 2 ** 50;

/** Returns the next id of a counter. docs/ids.md has the rules of ids that devices depend on. */
export function nextId(counter: Counter): number {
  return Math.max(counter.last + 1, counter.floor);
}

/** Returns the counter after its next id is given out. */
export function raise(counter: Counter): Counter {
  return { last: nextId(counter), floor: counter.floor };
}

/** Bounds of the ids that devices may have seen, as far as a start with lost or outdated counters knows them. */
export interface FloorInputs {
  /** Unix time of the start, in seconds. */
  now: number;
  /** Unix time of the newest commit, in seconds; 0 if there is none. */
  newestCommit: number;
  /** The highest id in the record and the store; 0 if there is none. */
  highestId: number;
}

/**
 * Returns the floor of every known name after such a start. Ids rise far more slowly than once a second, so the current
 * time is above every id that was ever served. The other two bounds help if the clock was set back.
 */
export function startFloor({ now, newestCommit, highestId }: FloorInputs): number {
  const floor = Math.max(now, newestCommit, highestId + 1);
  return Math.min(Math.ceil(floor), Math.max(MAX_FLOOR, highestId + 1));
}
