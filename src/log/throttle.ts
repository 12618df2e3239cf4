/** Milliseconds between two reports of the same cause. */
const INTERVAL = 60_000;
/** Limits the memory: causes can contain what others chose. */
const MAX_CAUSES = 100;

/** Counts what happens again and again, so that a log need not repeat it each time. */
export interface Throttle {
  /**
   * Counts one occurrence. Returns null if this cause was reported within the last minute; otherwise it is to be reported
   * now, and the result is how often it occurred since the report before, this time included.
   */
  count(cause: string): number | null;
  /** Forgets all causes: the next occurrence is a first one. */
  clear(): void;
}

/** `now` returns Unix milliseconds. */
export function createThrottle(now: () => number): Throttle {
  const causes = new Map<string, { reportedAt: number; unreported: number }>();
  return {
    count: (cause) => {
      const { reportedAt, unreported } = causes.get(cause) ?? {
        reportedAt: Number.NEGATIVE_INFINITY,
        unreported: 0,
      };
      if (causes.size >= MAX_CAUSES) causes.clear();
      const isDue = Math.abs(now() - reportedAt) >= INTERVAL;
      causes.set(
        cause,
        isDue ? { reportedAt: now(), unreported: 0 } : { reportedAt, unreported: unreported + 1 },
      );
      return isDue ? unreported + 1 : null;
    },
    clear: () => causes.clear(),
  };
}
