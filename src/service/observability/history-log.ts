import type { Logger } from 'pino';
import { createFailureLog } from './failure-log.ts';

/** Logs why the history could not be indexed further, each reason once a minute. `now` returns Unix milliseconds. */
export function createHistoryLog(logger: Logger, now: () => number): (error: unknown) => void {
  const failing = 'the history could not be indexed further; the next pass tries again';
  return createFailureLog(logger, now, { failing, working: 'the history is indexed again' }, 'warn').failed;
}
