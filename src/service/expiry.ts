import type { Logger } from 'pino';
import { messageOf } from '../errors.ts';
import type { ReportStore } from '../store/store.ts';

/** The limits of the time between two sweeps, in milliseconds. */
const SHORTEST_INTERVAL = 1000;
const LONGEST_INTERVAL = 60_000;

/**
 * Deletes reports that are older than `lifetime` milliseconds, at once and then every tenth of that time, but at most
 * once a second and at least once a minute. `now` returns Unix milliseconds, the unit of a report's arrival. Returns a
 * function that ends the sweeps.
 */
export function startReportExpiry(
  store: ReportStore,
  lifetime: number,
  now: () => number,
  logger: Logger,
): () => void {
  let lastReason: string | null = null;
  let isSweeping = false;
  let isStopped = false;

  const logFailure = (error: unknown): void => {
    // The store was closed during the sweep.
    if (isStopped) return;
    const reason = messageOf(error);
    if (reason !== lastReason) logger.warn({ reason, err: error }, 'reports could not be expired');
    lastReason = reason;
  };
  const sweep = async (): Promise<void> => {
    // A sweep of millions of reports outlasts the interval, and other writes wait for every sweep that runs.
    if (isSweeping) return;
    isSweeping = true;
    try {
      const count = await store.expireReports(now() - lifetime);
      if (count > 0) logger.debug({ count }, 'reports expired');
      if (lastReason !== null) logger.info({ after: lastReason }, 'reports are expired again');
      lastReason = null;
    } catch (error) {
      logFailure(error);
    } finally {
      isSweeping = false;
    }
  };
  const interval = Math.max(SHORTEST_INTERVAL, Math.min(LONGEST_INTERVAL, lifetime / 10));
  const timer = setInterval(() => void sweep(), interval).unref();
  void sweep();
  return () => {
    isStopped = true;
    clearInterval(timer);
  };
}
