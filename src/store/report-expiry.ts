import { setImmediate } from 'node:timers/promises';

/** Calls `dropSome`, which resolves to how many it dropped, until it drops none. Gives way to other work in between. */
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
