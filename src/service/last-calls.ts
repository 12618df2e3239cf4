/**
 * Milliseconds that a stopping manager lets calls to a database go on: after the server has cut off those who wait for
 * them, and early enough for what comes then. A database that does not answer would be waited for longer than the
 * process has (`program.ts`).
 */
const LAST_CALLS = 7000;

/** The time that calls to a database have left; it runs from `begin` on. */
export interface LastCalls {
  /** Aborted when nobody waits for them any longer. */
  enough: AbortSignal;
  begin(): void;
  end(): void;
}

/** Begins by itself when the process is told to end, which can be before the service has started. */
export function createLastCalls(stopping: AbortSignal | undefined): LastCalls {
  const last = new AbortController();
  let timer: NodeJS.Timeout | undefined;
  const begin = (): void => {
    timer ??= setTimeout(() => last.abort(), LAST_CALLS).unref();
  };
  if (stopping?.aborted === true) begin();
  stopping?.addEventListener('abort', begin);
  return { enough: last.signal, begin, end: () => clearTimeout(timer) };
}
