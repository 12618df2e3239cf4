/**
 * What a stopping manager has time for: milliseconds from the signal on. They are one after the other, so that each leaves
 * time for those below it. A terminal has no limit, systemd 90 seconds, Kubernetes 30, but `docker stop` kills after ten.
 */
export const STOP_LIMITS = {
  /** Looks and pushes at origin: those who wait for a write are told before the server cuts them off, after five seconds. */
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

type StopLimit = Exclude<keyof typeof STOP_LIMITS, 'end'>;

/** The time that a stopping manager has left. */
export interface StopClock {
  /** Each is aborted when its time is over. */
  readonly over: Readonly<Record<StopLimit, AbortSignal>>;
  /** Lets the time run; it may do so already. */
  begin(): void;
  /** Whatever has not ended by then may take its time. */
  end(): void;
}

/** Begins by itself when the process is told to end, which can be before the service has started. */
export function createStopClock(stopping: AbortSignal | undefined): StopClock {
  const ends = {
    pushes: new AbortController(),
    calls: new AbortController(),
    recordPush: new AbortController(),
    record: new AbortController(),
  };
  let timers: NodeJS.Timeout[] | null = null;
  const begin = (): void => {
    timers ??= (Object.keys(ends) as StopLimit[]).map((limit) =>
      setTimeout(() => ends[limit].abort(), STOP_LIMITS[limit]).unref(),
    );
  };
  if (stopping?.aborted === true) begin();
  stopping?.addEventListener('abort', begin);
  const { pushes, calls, recordPush, record } = ends;
  return {
    over: {
      pushes: pushes.signal,
      calls: calls.signal,
      recordPush: recordPush.signal,
      record: record.signal,
    },
    begin,
    end: () => timers?.forEach(clearTimeout),
  };
}

/** Calls when that time is over, or at once where it is; the function that it returns calls that off. */
export function whenOver(signal: AbortSignal, act: () => void): () => void {
  if (signal.aborted) act();
  else signal.addEventListener('abort', act, { once: true });
  return () => signal.removeEventListener('abort', act);
}
