import { setImmediate } from 'node:timers/promises';

/** Counts how often others got their turn while a work was under way. */
export async function turnsDuring(work: () => Promise<unknown>): Promise<number> {
  let turns = 0;
  let isOver = false;
  const count = async (): Promise<void> => {
    while (!isOver) {
      await setImmediate();
      turns += 1;
    }
  };
  const counted = count();
  await work();
  isOver = true;
  await counted;
  return turns;
}
