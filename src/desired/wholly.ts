/**
 * Brings work in pieces to its end without a break. Such work is a generator that stops between its pieces, so that a
 * caller with others to serve can give way there (`inPieces` in `src/async/pace.ts`).
 */
export function wholly<T>(work: Iterator<undefined, T>): T {
  for (;;) {
    const piece = work.next();
    if (piece.done === true) return piece.value;
  }
}
