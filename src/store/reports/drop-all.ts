import { setImmediate } from 'node:timers/promises';

/**
 * Calls `dropSome`, which resolves to the number of reports that it has deleted, until that is 0. Yields to other work
 * between the calls. Resolves to the total.
 */
export async function dropAll(dropSome: () => Promise<number>): Promise<number> {
  let total = 0;
  let dropped: number;
  do {
    dropped = await dropSome();
    total += dropped;
    await setImmediate();
  } while (dropped > 0);
  return total;
}
