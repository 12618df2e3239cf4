import { asHoldfastError, isShutdownError } from '../errors.ts';
import type { SourceOrigin } from '../source/source.ts';
import { describeError } from './backoff.ts';
import type { OriginStatus } from './status.ts';

/** Polls origin, and remembers whether that succeeded. */
export interface OriginWatch {
  /** For passes, which fetch by themselves if the store is ahead. Null if there is no origin. */
  readonly origin: SourceOrigin | null;
  /** Fetches. Never rejects: after a failure, what was fetched last is still read. */
  refresh(): Promise<void>;
  /** Null if there is no origin. */
  status(): OriginStatus | null;
  /** When the last poll ended, in Unix milliseconds. */
  polledAt(): number;
}

export interface OriginWatchOptions {
  origin: SourceOrigin | null;
  /** Unix milliseconds. */
  now(): number;
  /** In [0, 1), for spreading retries. */
  random(): number;
}

export function createOriginWatch(options: OriginWatchOptions): OriginWatch {
  const { origin, now, random } = options;
  let status: OriginStatus | null = origin === null ? null : { reachedAt: null, error: null, cause: null };
  let polledAt = now();

  const markReached = (): void => {
    if (status !== null) status = { reachedAt: now(), error: null, cause: null };
  };

  const refresh = async (): Promise<void> => {
    try {
      await origin?.refresh();
      markReached();
    } catch (error) {
      // A fetch that the manager ended itself says nothing about origin.
      if (status === null || isShutdownError(error)) return;
      const failure = asHoldfastError(error);
      const described = describeError(failure, status.error, now(), random());
      status = { ...status, error: described, cause: failure.cause };
    } finally {
      polledAt = now();
    }
  };

  return {
    origin: origin === null ? null : { ...origin, refresh: () => origin.refresh().then(markReached) },
    refresh,
    status: () => status,
    polledAt: () => polledAt,
  };
}
