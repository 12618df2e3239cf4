import type { ErrorKind, HoldfastError } from '../errors.ts';
import type { PassError } from './status.ts';

/** What a failed pass waits for. */
type Reaction =
  /** A new commit; trying the same one again would end the same way. */
  | 'stalled'
  /** Something outside (git, origin, the store) to come back. */
  | 'waiting'
  /** A mistake of ours, which may pass. */
  | 'other';

/** First delay and longest delay of each reaction that retries, in milliseconds. */
const DELAYS: Readonly<Record<Exclude<Reaction, 'stalled'>, { first: number; longest: number }>> = {
  waiting: { first: 500, longest: 30_000 },
  other: { first: 2000, longest: 300_000 },
};

/** The kind of an error decides what a failed pass does next. */
export function reactionTo(kind: ErrorKind): Reaction {
  if (kind === 'stalled') return 'stalled';
  return kind === 'unavailable' || kind === 'moved-on' || kind === 'conflict' ? 'waiting' : 'other';
}

/**
 * Milliseconds until the next try after so many failures in a row: doubled each time up to a limit, then
 * spread over its upper half, so that many managers do not all come back at once. Null: do not try again.
 *
 * `random` lies in [0, 1).
 */
export function retryDelay(reaction: Reaction, failures: number, random: number): number | null {
  if (reaction === 'stalled') return null;
  const { first, longest } = DELAYS[reaction];
  const delay = Math.min(longest, first * 2 ** Math.max(0, failures - 1));
  return Math.round(delay / 2 + (delay / 2) * random);
}

/** A failure as the status tells it; `before` is the failure in front of it, if there was one. */
export function describeError(
  error: HoldfastError,
  before: PassError | null,
  now: number,
  random: number,
): PassError {
  const failures = (before?.failures ?? 0) + 1;
  const delay = retryDelay(reactionTo(error.kind), failures, random);
  return {
    kind: error.kind,
    message: error.message,
    since: before?.since ?? now,
    failures,
    retryAt: delay === null ? null : now + delay,
  };
}
