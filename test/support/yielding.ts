import { setImmediate } from 'node:timers/promises';
import { vi } from 'vitest';

/**
 * Runs `work` while each call of `performance.now()` returns a millisecond more than the last one. Long work yields
 * after some milliseconds, so here it yields after the same number of steps on every machine, however fast.
 */
export async function onTickingClock<T>(work: () => Promise<T>): Promise<T> {
  let now = performance.now();
  const clock = vi.spyOn(performance, 'now').mockImplementation(() => {
    now += 1;
    return now;
  });
  try {
    return await work();
  } finally {
    clock.mockRestore();
  }
}

/** Counts how often `work` lets other tasks of the event loop run, on the clock of {@link onTickingClock}. */
export async function yieldsDuring(work: () => Promise<unknown>): Promise<number> {
  let yields = 0;
  let isOver = false;
  const count = async (): Promise<void> => {
    while (!isOver) {
      await setImmediate();
      yields += 1;
    }
  };
  const counted = count();
  await onTickingClock(work);
  isOver = true;
  await counted;
  return yields;
}
