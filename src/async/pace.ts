import { setImmediate } from 'node:timers/promises';

/** How long work may hold the event loop before it gives way, in milliseconds. */
const BUDGET = 4;
/** Less than this is not worth a turn of the event loop, in milliseconds. */
const NOTEWORTHY = 1;

/** Works on items one after another, and gives way to others between them. */
export async function inTurns<T>(items: Iterable<T>, work: (item: T) => void): Promise<void> {
  const pace = new Pace();
  for (const item of items) {
    work(item);
    await pace.step();
  }
  await pace.end();
}

/** Runs a generator to its end, and gives way to others where it yields. Resolves to what it returns. */
export async function inPieces<T>(work: Iterator<unknown, T>): Promise<T> {
  const pace = new Pace();
  const result = await pace.pieces(work);
  await pace.end();
  return result;
}

/** Lets long work give way to everything else that waits for the event loop. */
export class Pace {
  #since = performance.now();

  /** Call between two pieces of work: gives way when the time is used up, and otherwise goes on at once. */
  async step(): Promise<void> {
    if (performance.now() - this.#since < BUDGET) return;
    await setImmediate();
    this.#since = performance.now();
  }

  /** Runs a generator to its end as a part of longer work: `step` wherever it yields. */
  async pieces<T>(work: Iterator<unknown, T>): Promise<T> {
    let piece = work.next();
    while (piece.done !== true) {
      await this.step();
      piece = work.next();
    }
    return piece.value;
  }

  /** Call after the last piece, so that what comes next does not hold the event loop together with it. */
  async end(): Promise<void> {
    if (performance.now() - this.#since > NOTEWORTHY) await setImmediate();
  }
}
