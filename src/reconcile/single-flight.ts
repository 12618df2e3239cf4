/** Runs one thing at a time, and promises every caller a run that began after the call. */
export interface SingleFlight<T> {
  /** Resolves with the first run that begins after this call. At most one run is under way and one waits. */
  request(): Promise<T>;
  /** Resolves when the run that is under way is over, if any is. */
  landed(): Promise<void>;
  /** Resolves when nothing is under way and nothing waits. */
  idle(): Promise<void>;
}

export function createSingleFlight<T>(run: () => Promise<T>): SingleFlight<T> {
  let running: Promise<void> | null = null;
  let waiting: Promise<T> | null = null;

  const begin = (): Promise<T> => {
    waiting = null;
    const flight = run();
    const settled = flight.then(
      () => undefined,
      () => undefined,
    );
    running = settled;
    void settled.then(() => {
      if (running === settled) running = null;
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

  const landed = async (): Promise<void> => {
    await running;
  };

  return { request, landed, idle };
}
