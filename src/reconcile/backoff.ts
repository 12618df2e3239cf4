import type { ErrorKind, HoldfastError } from '../errors.ts';
import type { PassError } from './status.ts';

/** First and longest delay in milliseconds: while something outside (git, origin, the store) is unavailable. */
const OUTSIDE = { first: 500, longest: 30_000 };
/** The same for anything else, which is a bug that may pass. */
const BUG = { first: 2000, longest: 300_000 };

/**
 * Milliseconds until the next try after so many failures in a row: doubled each time up to a limit, then
 * spread over its upper half, so that many managers do not all come back at once. Null for `refused`: only a new commit
 * helps, and trying the same one again would end the same way.
 *
 * `random` lies in [0, 1).
 */
export function retryDelay(kind: ErrorKind, failures: number, random: number): number | null {
  if (kind === 'refused') return null;
  const isOutside = kind === 'unavailable' || kind === 'moved-on' || kind === 'conflict';
  const { first, longest } = isOutside ? OUTSIDE : BUG;
  const delay = Math.min(longest, first * 2 ** Math.max(0, failures - 1));
  return Math.round(delay / 2 + (delay / 2) * random);
}

/** A failure as the status shows it; `before` is the failure right before it, if there was one. */
export function describeError(
  error: HoldfastError,
  before: PassError | null,
  now: number,
  random: number,
): PassError {
  const failures = (before?.failures ?? 0) + 1;
  const delay = retryDelay(error.kind, failures, random);
  return {
    kind: error.kind,
    message: error.message,
    since: before?.since ?? now,
    failures,
    retryAt: delay === null ? null : now + delay,
  };
}
