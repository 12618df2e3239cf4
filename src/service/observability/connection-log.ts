import type { Logger } from 'pino';
import { createThrottle } from '../../log/throttle.ts';

/** The part of the limit of open files above which connections come near it. */
const NEAR = 0.8;

/**
 * Returns a function that gets the number of open connections, and warns, at most once a minute, when they come near
 * `limit`, the most files that the process may have open; null turns it off. `now` returns Unix milliseconds.
 */
export function createConnectionLog(
  logger: Pick<Logger, 'warn'>,
  limit: number | null,
  now: () => number,
): (open: number) => void {
  if (limit === null) return () => undefined;
  const throttle = createThrottle(now);
  return (open) => {
    if (open < limit * NEAR || throttle.count('near') === null) return;
    logger.warn(
      { connections: open, limit },
      'open connections come near the limit of open files; end what holds them, or raise it (ulimit -n; LimitNOFILE= in a unit)',
    );
  };
}
