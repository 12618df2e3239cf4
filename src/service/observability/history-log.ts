import type { Logger } from 'pino';

/** Logs why the history could not be told further. */
export function createHistoryLog(logger: Logger): (error: unknown) => void {
  return (err) => logger.warn({ err }, 'the history could not be told further; the next pass tries again');
}
