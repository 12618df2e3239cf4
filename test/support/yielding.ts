import { setImmediate } from 'node:timers/promises';
import { vi } from 'vitest';

/**
 * Runs a work on a clock that goes on by a millisecond with each look at it. Long work gives way when some milliseconds
 * have passed: so it does after as many steps on any machine, also on one that would be done before.
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

/** Counts how often others got their turn while a work was under way, on a clock that ticks. */
export async function yieldsDuring(work: () => Promise<unknown>): Promise<number> {
  let turns = 0;
  let isOver = false;
  const count = async (): Promise<void> => {
    while (!isOver) {
      await setImmediate();
      turns += 1;
    }
  };
  const counted = count();
  await onTickingClock(work);
  isOver = true;
  await counted;
  return turns;
}
