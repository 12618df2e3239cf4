import type { Logger } from 'pino';
import { createFailureLog } from '../log/failure-log.ts';
import type { ReportStore } from '../store/reports/port.ts';

/** The limits of the time between two sweeps, in milliseconds. */
const SHORTEST_INTERVAL = 1000;
const LONGEST_INTERVAL = 60_000;

const TEXTS = { failing: 'reports could not be expired', working: 'reports are expired again' };

/**
 * Deletes reports that are older than `lifetime` milliseconds, at once and then every tenth of that time, but at most
 * once a second and at least once a minute. `now` returns Unix milliseconds, the unit of a report's arrival. Returns a
 * function that ends the sweeps.
 */
export function startReportExpiry(
  reports: ReportStore,
  lifetime: number,
  now: () => number,
  logger: Logger,
): () => void {
  const sweeps = createFailureLog(logger, now, TEXTS, 'warn');
  let isSweeping = false;
  let isStopped = false;

  const sweep = async (): Promise<void> => {
    // A sweep of millions of reports outlasts the interval, and other writes wait for every sweep that runs.
    if (isSweeping) return;
    isSweeping = true;
    try {
      const count = await reports.expireReports(now() - lifetime);
      if (count > 0) logger.debug({ count }, 'reports expired');
      sweeps.succeeded();
    } catch (error) {
      // Otherwise the store was closed during the sweep.
      if (!isStopped) sweeps.failed(error);
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
