/** Runs one thing at a time, and promises every caller a run that began after the call. */
export interface SingleFlight<T> {
  /** Resolves with the first run that begins after this call. At most one run is under way and one waits. */
  request(): Promise<T>;
  /** Resolves when nothing is under way, without waiting for what waits: to the latest result, null before the first. */
  landed(): Promise<T | null>;
  /** Resolves when nothing is under way and nothing waits. */
  idle(): Promise<void>;
}

export function createSingleFlight<T>(run: () => Promise<T>): SingleFlight<T> {
  let running: Promise<void> | null = null;
  let waiting: Promise<T> | null = null;
  let latest: T | null = null;

  const begin = (): Promise<T> => {
    waiting = null;
    const flight = run();
    const settled = flight.then(
      (result) => {
        latest = result;
      },
      () => undefined,
    );
    running = settled;
    void settled.then(() => {
      running = null;
    });
    return flight;
  };

  const request = (): Promise<T> => {
    if (waiting !== null) return waiting;
    if (running === null) return begin();
    waiting = running.then(begin);
    return waiting;
  };

  const idle = async (): Promise<void> => {
    while (running !== null || waiting !== null) await (waiting ?? running)?.catch(() => undefined);
  };

  const landed = async (): Promise<T | null> => {
    await running;
    return latest;
  };

  return { request, landed, idle };
}
