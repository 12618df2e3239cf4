import type { OriginWatch } from './origin-watch.ts';
import type { PassError } from './status.ts';

/** Milliseconds; a clock that was set back must not delay the next poll for hours. */
const LONGEST_WAIT = 300_000;

/** What the time of the next poll depends on. Times are Unix milliseconds. */
interface Situation {
  /** Why the last pass failed, with the time of its next try. */
  passError: PassError | null;
  /** Knows when the last poll was, and when origin is to be tried again if it was not reached. */
  origin: Pick<OriginWatch, 'status' | 'lookedAt'>;
  /** Milliseconds between polls; 0 turns them off. */
  pollInterval: number;
  now: number;
}

/**
 * Milliseconds until the next poll; null: none until something triggers it. A pass that failed is tried again when its
 * time has come, which neither delays the next poll nor hides that origin is to be tried again.
 */
export function nextLook({ passError, origin, pollInterval, now }: Situation): number | null {
  // Writes run passes, too; however many there are, the next poll stays where it is.
  const pollAt = pollInterval === 0 ? null : origin.lookedAt() + pollInterval;
  const originAt = origin.status()?.error?.retryAt ?? pollAt;
  const times = [passError?.retryAt ?? null, originAt].filter((time) => time !== null);
  if (times.length === 0) return null;
  return Math.min(Math.max(0, Math.min(...times) - now), Math.max(pollInterval, LONGEST_WAIT));
}

/**
 * One timer, set in milliseconds from now; null clears it. Setting it replaces what was set before; once stopped it stays
 * so.
 */
export function createAlarm(ring: () => void): { set(delay: number | null): void; stop(): void } {
  let timer: NodeJS.Timeout | undefined;
  let isStopped = false;
  return {
    set: (delay) => {
      clearTimeout(timer);
      if (delay !== null && !isStopped) timer = setTimeout(ring, delay).unref();
    },
    stop: () => {
      isStopped = true;
      clearTimeout(timer);
    },
  };
}
