/** Runs a task when its turn comes. */
export type Limiter = <T>(work: () => Promise<T>) => Promise<T>;

/**
 * Returns a function that runs at most `limit` tasks at once. Further tasks wait, and begin in the order in which they
 * came. While `mostWaiting` tasks wait, further ones are rejected with `refusal()`.
 */
export function createLimiter(limit: number, mostWaiting: number, refusal: () => Error): Limiter {
  const waiting: (() => void)[] = [];
  let freeSlots = limit;

  return async (work) => {
    if (freeSlots > 0) freeSlots -= 1;
    else if (waiting.length >= mostWaiting) throw refusal();
    else await new Promise<void>((resolve) => waiting.push(resolve));
    try {
      return await work();
    } finally {
      // A waiting task takes over the slot without freeing it first, so that no new task can take it as well.
      const next = waiting.shift();
      if (next === undefined) freeSlots += 1;
      else next();
    }
  };
}
