import type { Logger } from 'pino';
import { messageOf } from '../errors.ts';
import type { ReportStore } from '../store/store.ts';

/** The shortest and longest time between two sweeps, in milliseconds. */
const SHORTEST_INTERVAL = 1000;
const LONGEST_INTERVAL = 60_000;

/**
 * Drops reports that arrived longer ago than `lifetime` milliseconds: ten times in that time, but at most each second and
 * at least each minute. Returns a function that stops this. `now` is Unix milliseconds, as arrivals are kept.
 */
export function startReportExpiry(
  store: ReportStore,
  lifetime: number,
  now: () => number,
  logger: Logger,
): () => void {
  let lastReason: string | null = null;
  let isSweeping = false;

  const sweep = async (): Promise<void> => {
    // Millions take longer than an interval, and writes wait for each sweep that is under way.
    if (isSweeping) return;
    isSweeping = true;
    try {
      const count = await store.expireReports(now() - lifetime);
      if (count > 0) logger.debug({ count }, 'reports expired');
      if (lastReason !== null) logger.info({ after: lastReason }, 'reports are expired again');
      lastReason = null;
    } catch (error) {
      const reason = messageOf(error);
      if (reason !== lastReason) logger.warn({ reason, err: error }, 'reports could not be expired');
      lastReason = reason;
    } finally {
      isSweeping = false;
    }
  };
  const interval = Math.max(SHORTEST_INTERVAL, Math.min(LONGEST_INTERVAL, lifetime / 10));
  const timer = setInterval(() => void sweep(), interval).unref();
  void sweep();
  return () => clearInterval(timer);
}
