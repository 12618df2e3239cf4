import type { ErrorKind } from '../errors.ts';

/** First and longest delay in milliseconds while git, origin or the store is unavailable. */
const OUTSIDE = { first: 500, longest: 30_000 };
/** The same for any other error, which is a bug that may go away. */
const BUG = { first: 2000, longest: 300_000 };

/**
 * Returns the milliseconds until the next try after this many failures in a row. The delay doubles each time up to a
 * limit; `random`, in [0, 1), then spreads it over its upper half, so that many managers do not retry at once. Returns
 * null for `refused`: only a new commit helps, and the same one would be refused again.
 */
export function retryDelay(kind: ErrorKind, failures: number, random: number): number | null {
  if (kind === 'refused') return null;
  const isOutside = kind === 'unavailable' || kind === 'moved-on' || kind === 'conflict';
  const { first, longest } = isOutside ? OUTSIDE : BUG;
  const delay = Math.min(longest, first * 2 ** Math.max(0, failures - 1));
  return Math.round(delay / 2 + (delay / 2) * random);
}
