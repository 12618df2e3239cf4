/** What is remembered of one id of one name, for ever: it outlives the object. */
export interface Counter {
  /** The highest id ever given out; 0 for a name that never was. */
  last: number;
  /** Lower bound of the next id; 0 except for names that were known when a store started without counters. */
  floor: number;
}

/** A name that never was. */
export const FRESH_COUNTER: Counter = { last: 0, floor: 0 };

/** Ids stay well below 2^53, so that they are exact for every reader of JSON. */
const MAX_FLOOR = 2 ** 50;

/** The rule of decisions.md, "Ids": next id = max(last + 1, floor). */
export function nextId(counter: Counter): number {
  return Math.max(counter.last + 1, counter.floor);
}

/** The counter after its next id was given out. */
export function raise(counter: Counter): Counter {
  return { last: nextId(counter), floor: counter.floor };
}

/** What a start without counters (or with old ones) knows of the past. */
export interface KnownPast {
  /** Unix time of the start, in seconds. */
  now: number;
  /** The newest commit's time, in seconds; 0 where there is none. */
  newestCommit: number;
  /** The highest id that the record or the store holds; 0 where there is none. */
  highestId: number;
}

/**
 * The floor of every known name after such a start. Ids grow far slower than one a second, so the time lies
 * above all that was ever served; the other two guard against a clock that was set back.
 */
export function startFloor({ now, newestCommit, highestId }: KnownPast): number {
  const floor = Math.max(now, newestCommit, highestId + 1);
  return Math.min(Math.ceil(floor), Math.max(MAX_FLOOR, highestId + 1));
}
