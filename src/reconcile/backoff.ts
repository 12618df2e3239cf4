import { retryDelay } from '../async/backoff.ts';
import type { HoldfastError } from '../errors.ts';
import type { PassError } from './status.ts';

/** Describes a failure for the status. `before` is the failure right before it, if there was one. */
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
