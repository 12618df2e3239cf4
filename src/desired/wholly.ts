/**
 * Runs a generator to its end without a break, and returns what it returns. Long work is written as a generator that
 * yields between its pieces, so that callers who have others to serve can give way there (`inPieces` in
 * `src/async/pace.ts`).
 */
export function wholly<T>(work: Iterator<undefined, T>): T {
  for (;;) {
    const piece = work.next();
    if (piece.done === true) return piece.value;
  }
}
