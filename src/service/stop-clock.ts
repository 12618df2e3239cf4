/**
 * The deadlines of a shutdown, in milliseconds after the signal. They are staggered, so that each leaves time for the
 * later ones. A terminal has no limit, systemd waits 90 seconds and Kubernetes 30, but `docker stop` kills after ten.
 */
export const STOP_LIMITS = {
  /** Fetches and pushes. Writes are then answered before the server cuts connections off, after five seconds. */
  pushes: 3000,
  /** Calls to a database: its driver would wait for a server that does not answer longer than the process lives. */
  calls: 7000,
  /** Pushing the record of ids to origin. A record that is not pushed by then stays in the mirror. */
  recordPush: 7500,
  /** Writing the record of ids anywhere. What is missed is written after the next start. */
  record: 8500,
  /** Everything: the process exits with an error (`program.ts`). git processes that respond have ended long before. */
  end: 10_000,
} as const;

const LIMITS = ['pushes', 'calls', 'recordPush', 'record'] as const;
type StopLimit = (typeof LIMITS)[number];

/** The deadlines of one shutdown. */
export interface StopClock {
  /** For each limit, a signal that is aborted when its time is over. */
  readonly expired: Readonly<Record<StopLimit, AbortSignal>>;
  /** Starts the clock, unless it runs already. */
  start(): void;
  /** Cancels the deadlines that have not expired yet. */
  cancel(): void;
}

/** Makes a clock that starts by itself when `stopping` is aborted, which can be before the service has started. */
export function createStopClock(stopping: AbortSignal | undefined): StopClock {
  const deadlines = LIMITS.map((limit) => [limit, new AbortController()] as const);
  let timers: NodeJS.Timeout[] | null = null;
  const start = (): void => {
    timers ??= deadlines.map(([limit, deadline]) =>
      setTimeout(() => deadline.abort(), STOP_LIMITS[limit]).unref(),
    );
  };
  if (stopping !== undefined) onAbort(stopping, start);
  const expired = Object.fromEntries(
    deadlines.map(([limit, { signal }]) => [limit, signal]),
  ) as StopClock['expired'];
  return { expired, start, cancel: () => timers?.forEach(clearTimeout) };
}

/** Calls `act` when the signal is aborted, or at once if it already is. Returns a function that cancels the call. */
export function onAbort(signal: AbortSignal, act: () => void): () => void {
  if (signal.aborted) act();
  else signal.addEventListener('abort', act, { once: true });
  return () => signal.removeEventListener('abort', act);
}
