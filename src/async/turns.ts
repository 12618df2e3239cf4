/** Runs a task when its turn comes. */
export type TakeTurns = <T>(work: () => Promise<T>) => Promise<T>;

/**
 * At most `limit` tasks run at once; the others wait, and begin in the order in which they came. While `mostWaiting`
 * wait already, a further task is rejected with `refusal()`.
 */
export function createTurns(limit: number, mostWaiting: number, refusal: () => Error): TakeTurns {
  const waiting: (() => void)[] = [];
  let free = limit;

  return async (work) => {
    if (free > 0) free -= 1;
    else if (waiting.length >= mostWaiting) throw refusal();
    else await new Promise<void>((resolve) => waiting.push(resolve));
    try {
      return await work();
    } finally {
      // The place is handed over without ever being free, so that nobody who comes meanwhile takes it as well.
      const next = waiting.shift();
      if (next === undefined) free += 1;
      else next();
    }
  };
}
