import type { OriginWatch } from './origin-watch.ts';
import type { PassError } from './status.ts';

/** Milliseconds. A clock that is set back must not delay the next poll for hours. */
const LONGEST_WAIT = 300_000;

/** What the time of the next scheduled pass depends on. */
interface Situation {
  /** Why the last pass failed, with the time of its retry; null if it succeeded. */
  passError: PassError | null;
  /** Has the time of the last poll, and that of the retry if the poll failed. */
  origin: Pick<OriginWatch, 'status' | 'polledAt'>;
  /** Milliseconds between polls; 0 turns them off. */
  pollInterval: number;
  /** Unix milliseconds. */
  now: number;
}

/**
 * Returns the milliseconds until the next scheduled pass; null if none is scheduled. The earliest of these counts: the
 * retry of a failed pass, and the next poll of origin or the retry of a failed one.
 */
export function nextPassDelay({ passError, origin, pollInterval, now }: Situation): number | null {
  // Counted from the last poll, not from the last pass: writes also run passes, and must not delay the next poll.
  const pollAt = pollInterval === 0 ? null : origin.polledAt() + pollInterval;
  const originAt = origin.status()?.error?.retryAt ?? pollAt;
  const times = [passError?.retryAt ?? null, originAt].filter((time) => time !== null);
  if (times.length === 0) return null;
  return Math.min(Math.max(0, Math.min(...times) - now), Math.max(pollInterval, LONGEST_WAIT));
}

/**
 * Creates a timer. `set` replaces what was set before: `onRing` is called after so many milliseconds, or never if null.
 * Once stopped it cannot be set again.
 */
export function createAlarm(onRing: () => void): { set(delay: number | null): void; stop(): void } {
  let timer: NodeJS.Timeout | undefined;
  let isStopped = false;
  return {
    set: (delay) => {
      clearTimeout(timer);
      if (delay !== null && !isStopped) timer = setTimeout(onRing, delay).unref();
    },
    stop: () => {
      isStopped = true;
      clearTimeout(timer);
    },
  };
}
