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

  const begin = (): Promise<T> => {
    waiting = null;
    const flight = run();
    const settled = flight
      .then(
        (result) => {
          latest = result;
        },
        () => undefined,
      )
      .then(() => {
        for (const act of acts.splice(0)) act();
      });
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

  const between = <U>(act: () => U): Promise<U> =>
    new Promise((resolve, reject) => {
      const actNow = (): void => {
        try {
          resolve(act());
        } catch (error) {
          reject(error);
        }
      };
      if (running === null) actNow();
      else acts.push(actNow);
    });

  return { request, landed, between, idle };
}
