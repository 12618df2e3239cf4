import type { Logger } from 'pino';
import { factsOfFailure } from '../../errors.ts';

/** Logs why the history could not be indexed further. */
export function createHistoryLog(logger: Logger): (error: unknown) => void {
  return (error) =>
    logger.warn(factsOfFailure(error), 'the history could not be indexed further; the next pass tries again');
}
