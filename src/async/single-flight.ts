/** Runs a function at most once at a time, and gives every caller a run that began after its request. */
export interface SingleFlight<T> {
  /** Resolves or rejects as the first run that begins after this call. At most one run is active, and one waits. */
  request(): Promise<T>;
  /**
   * Waits for the active run, but not for the waiting one. Resolves to the latest result; null if there is none yet.
   */
  landed(): Promise<T | null>;
  /**
   * Calls `act` while no run is active: at once, or after the active run and before the one that waits. Resolves to its
   * result.
   */
  between<U>(act: () => U): Promise<U>;
  /** Resolves once no run is active or waiting. */
  idle(): Promise<void>;
}

export function createSingleFlight<T>(run: () => Promise<T>): SingleFlight<T> {
  let running: Promise<void> | null = null;
  let waiting: Promise<T> | null = null;
  let latest: T | null = null;
  const acts: (() => void)[] = [];

  const end = async (flight: Promise<T>): Promise<void> => {
    latest = await flight.catch(() => latest);
    for (const act of acts.splice(0)) act();
  };

  const begin = (): Promise<T> => {
    waiting = null;
    const flight = run();
    running = end(flight);
    void running.then(() => {
      running = null;
    });
    return flight;
  };

  return {
    request: () => {
      if (waiting !== null) return waiting;
      if (running === null) return begin();
      waiting = running.then(begin);
      return waiting;
    },
    landed: async () => {
      await running;
      return latest;
    },
    between: (act) =>
      new Promise((resolve) => {
        // An async function begins at once, and rejects instead of throwing.
        const actNow = (): void => resolve((async () => act())());
        if (running === null) actNow();
        else acts.push(actNow);
      }),
    idle: async () => {
      while (running !== null || waiting !== null) await (waiting ?? running)?.catch(() => undefined);
    },
  };
}
