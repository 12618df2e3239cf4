import type { OriginWatch } from './origin-watch.ts';
import type { PassError } from './status.ts';

/** Milliseconds; a clock that was set back must not put the next look off for hours. */
const LONGEST_WAIT = 300_000;

/** What the time of the next look depends on. Times are Unix milliseconds. */
interface Situation {
  /** Why the last pass failed, with the time of its next try. */
  passError: PassError | null;
  /** Knows when the last look was, and when origin is to be tried again where it was not reached. */
  origin: Pick<OriginWatch, 'status' | 'lookedAt'>;
  /** Milliseconds between looks by the clock; 0 turns them off. */
  pollInterval: number;
  now: number;
}

/**
 * Milliseconds until the loop looks by itself again; null: only when something tells it to. A pass that failed is tried
 * again when its time has come; that neither puts off a look at the branch nor hides that origin is to be tried again.
 */
export function nextLook({ passError, origin, pollInterval, now }: Situation): number | null {
  // Writes run passes, too; however many there are, the next look by the clock stays where it is.
  const pollAt = pollInterval === 0 ? null : origin.lookedAt() + pollInterval;
  const originAt = origin.status()?.error?.retryAt ?? pollAt;
  const times = [passError?.retryAt ?? null, originAt].filter((time) => time !== null);
  if (times.length === 0) return null;
  return Math.min(Math.max(0, Math.min(...times) - now), Math.max(pollInterval, LONGEST_WAIT));
}

/**
 * One timer, set in milliseconds from now; null: not at all. Setting it again replaces what was set before, and once
 * stopped it is never set again.
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
