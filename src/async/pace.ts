import { setImmediate, setTimeout as sleep } from 'node:timers/promises';

/** Milliseconds for which work can hold the event loop before it lets other work run. */
const BUDGET = 4;
/** Milliseconds; for less than this, another turn of the event loop is not worth its cost. */
const NOTEWORTHY = 1;

/** Calls `work` for one item after another, and lets other work run in between. */
export async function forEachYielding<T>(items: Iterable<T>, work: (item: T) => void): Promise<void> {
  const pace = new Pace();
  for (const item of items) {
    work(item);
    await pace.step();
  }
  await pace.end();
}

/** Runs a generator to its end, and lets other work run at its `yield`s. Resolves to the value that it returns. */
export async function runYielding<T>(work: Iterator<unknown, T>): Promise<T> {
  const pace = new Pace();
  const result = await pace.pieces(work);
  await pace.end();
  return result;
}

/** The longest rest, in milliseconds: a long piece of work must not be followed by as long a rest. */
const LONGEST_REST = 50;

/**
 * Runs a piece of background work, and then rests for as long as that took. Many small pieces one after another would
 * otherwise slow down everything that needs many turns of the event loop.
 */
export async function withRest<T>(work: () => Promise<T>): Promise<T> {
  const start = performance.now();
  const result = await work();
  await sleep(Math.min(performance.now() - start, LONGEST_REST));
  return result;
}

/** Divides long work into pieces between which everything else that waits for the event loop can run. */
export class Pace {
  #since = performance.now();

  /** Call between two pieces: lets other work run if the budget is used up, and otherwise continues at once. */
  async step(): Promise<void> {
    if (performance.now() - this.#since < BUDGET) return;
    await setImmediate();
    this.#since = performance.now();
  }

  /** Runs a generator to its end as a part of longer work, with a `step` at each `yield`. */
  async pieces<T>(work: Iterator<unknown, T>): Promise<T> {
    let piece = work.next();
    while (piece.done !== true) {
      await this.step();
      piece = work.next();
    }
    return piece.value;
  }

  /** Call after the last piece, so that the work that follows does not prolong its hold on the event loop. */
  async end(): Promise<void> {
    if (performance.now() - this.#since > NOTEWORTHY) await setImmediate();
  }
}
