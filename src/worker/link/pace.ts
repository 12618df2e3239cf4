/** Seconds between polls at most while they fail; longer only if the interval is. */
const LONGEST = 300;
/** Seconds; even with bad luck, no two polls are closer. */
const SHORTEST = 1;

/** What the time of the next poll depends on. `random` is in [0, 1). */
export interface PaceInput {
  /** Seconds. */
  interval: number;
  /** Polls that failed in a row, for whatever reason. A gone device group is no failure. */
  failures: number;
  /** Seconds that the manager asked for; null if it did not. */
  retryAfter: number | null;
  random: number;
}

/** Returns the seconds from a start to the first poll, so that a fleet that is switched on at once does not poll at once. */
export function firstPollDelay({ interval, random }: Pick<PaceInput, 'interval' | 'random'>): number {
  return interval * random;
}

/**
 * Returns the seconds to the next poll: the interval give or take a tenth. After failures, a random part of a limit that
 * begins at twice the interval and doubles up to five minutes. A wait that the manager asks for is kept, and up to a
 * tenth is added, since the whole fleet was asked.
 */
export function pollDelay({ interval, failures, retryAfter, random }: PaceInput): number {
  if (failures === 0) return interval * (0.9 + 0.2 * random);
  const longest = Math.max(LONGEST, interval);
  const limit = Math.min(longest, interval * 2 ** Math.min(failures, 30));
  const delay = Math.max(SHORTEST, limit * random);
  return retryAfter === null ? delay : Math.max(delay, retryAfter * (1 + 0.1 * random));
}
