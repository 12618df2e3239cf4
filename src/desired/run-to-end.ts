/**
 * Runs a generator to its end without a pause, and returns its result. Long work is written as a generator that yields
 * between its pieces, so that callers can let other work run there (`runYielding` in `src/async/pace.ts`).
 */
export function runToEnd<T>(work: Iterator<undefined, T>): T {
  for (;;) {
    const piece = work.next();
    if (piece.done === true) return piece.value;
  }
}
