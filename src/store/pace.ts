import { setImmediate } from 'node:timers/promises';

/** How long work may hold the event loop before it gives way, in milliseconds. */
const BUDGET = 4;

/** Lets long work give way to everything else that waits for the event loop. */
export class Pace {
  #since = performance.now();

  /** Call between two pieces of work: gives way when the time is used up, and otherwise goes on at once. */
  async step(): Promise<void> {
    if (performance.now() - this.#since < BUDGET) return;
    await setImmediate();
    this.#since = performance.now();
  }
}
