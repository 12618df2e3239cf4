import type { Logger } from 'pino';
import { messageOf } from '../errors.ts';
import type { Store } from '../store/store.ts';

/** Milliseconds between two sweeps. */
const INTERVAL = 60_000;

/**
 * Drops reports that arrived longer ago than `lifetime` milliseconds, now and again; returns how to stop. `now` is
 * Unix milliseconds, by which arrivals are kept.
 */
export function expireReports(store: Store, lifetime: number, now: () => number, logger: Logger): () => void {
  let lastReason: string | null = null;

  const sweep = async (): Promise<void> => {
    try {
      const count = await store.expireReports(now() - lifetime);
      if (count > 0) logger.debug({ count }, 'reports expired');
      if (lastReason !== null) logger.info({ after: lastReason }, 'reports are expired again');
      lastReason = null;
    } catch (error) {
      const reason = messageOf(error);
      if (reason !== lastReason) logger.warn({ reason, err: error }, 'reports could not be expired');
      lastReason = reason;
    }
  };
  const timer = setInterval(() => void sweep(), INTERVAL).unref();
  void sweep();
  return () => clearInterval(timer);
}
