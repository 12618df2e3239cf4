/**
 * What a stopping manager has time for: milliseconds from the signal on. They are one after the other, so that each leaves
 * time for those below it. A terminal has no limit, systemd 90 seconds, Kubernetes 30, but `docker stop` kills after ten.
 */
export const STOP_LIMITS = {
  /** Fetches and pushes: writes are answered before the server cuts connections off, after five seconds. */
  pushes: 3000,
  /** Calls to a database. One that does not answer would be waited for longer than the process has. */
  calls: 7000,
  /** Sending the record of ids to origin, the whole time if nothing else takes any. It stays in the mirror after that. */
  recordPush: 7500,
  /** The record of ids, wherever it is, and giving the lease up. What is missed is written after the next start. */
  record: 8500,
  /** All: the process ends, with an error, whatever is under way (`program.ts`). Git that answers is ended long before. */
  end: 10_000,
} as const;

const LIMITS = ['pushes', 'calls', 'recordPush', 'record'] as const;
type StopLimit = (typeof LIMITS)[number];

/** The time that a stopping manager has left. */
export interface StopClock {
  /** Each is aborted when its time is over. */
  readonly over: Readonly<Record<StopLimit, AbortSignal>>;
  /** Starts the clock, unless it runs already. */
  begin(): void;
  /** Stops it: what has not ended by then may take its time. */
  end(): void;
}

/** Begins by itself when the process is told to end, which can be before the service has started. */
export function createStopClock(stopping: AbortSignal | undefined): StopClock {
  const ends = LIMITS.map((limit) => [limit, new AbortController()] as const);
  let timers: NodeJS.Timeout[] | null = null;
  const begin = (): void => {
    timers ??= ends.map(([limit, end]) => setTimeout(() => end.abort(), STOP_LIMITS[limit]).unref());
  };
  if (stopping !== undefined) whenOver(stopping, begin);
  const over = Object.fromEntries(ends.map(([limit, { signal }]) => [limit, signal])) as StopClock['over'];
  return { over, begin, end: () => timers?.forEach(clearTimeout) };
}

/** Calls `act` when a signal is aborted, or at once if it is already. Returns a function that cancels this. */
export function whenOver(signal: AbortSignal, act: () => void): () => void {
  if (signal.aborted) act();
  else signal.addEventListener('abort', act, { once: true });
  return () => signal.removeEventListener('abort', act);
}
