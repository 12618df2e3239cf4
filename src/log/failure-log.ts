import type { Logger } from 'pino';
import { factsOfFailure, messageOf } from '../errors.ts';
import { createThrottle } from './throttle.ts';

/** What a failure log says. */
export interface FailureTexts {
  /** When the work fails, and again each minute while it does. */
  failing: string;
  /** When it works again. */
  working: string;
}

/** The log of work that is tried again and again. */
export interface FailureLog {
  /**
   * Logs a failure: in full if this is the first one with this reason, and once a minute while it lasts. `facts` are
   * further fields of the line.
   */
  failed(error: unknown, facts?: Record<string, unknown>): void;
  /** Logs that the work succeeded, if it failed before. */
  succeeded(): void;
}

/** `now` returns Unix milliseconds. */
export function createFailureLog(
  logger: Logger,
  now: () => number,
  { failing, working }: FailureTexts,
  level: 'warn' | 'error' = 'error',
): FailureLog {
  const throttle = createThrottle(now);
  const known = new Set<string>();
  let last: string | null = null;

  return {
    failed: (error, facts = {}) => {
      last = messageOf(error);
      const failures = throttle.count(last);
      if (failures === null) return;
      const isNew = !known.has(last);
      known.add(last);
      const cause = isNew ? factsOfFailure(error) : { reason: last, failures };
      logger[level]({ ...cause, ...facts }, failing);
    },
    succeeded: () => {
      if (last !== null) logger.info({ after: last }, working);
      last = null;
      known.clear();
      throttle.clear();
    },
  };
}
