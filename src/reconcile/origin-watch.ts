import { asHoldfastError, isShutdownError } from '../errors.ts';
import type { SourceOrigin } from '../source/source.ts';
import type { PollLease } from '../store/poll-lease.ts';
import { describeError } from './backoff.ts';
import type { OriginStatus, Polling } from './status.ts';

/** Polls origin, and remembers whether that succeeded. */
export interface OriginWatch {
  /** For passes, which fetch by themselves if the store is ahead. Null if there is no origin. */
  readonly origin: SourceOrigin | null;
  /** Fetches. Never rejects: after a failure, what was fetched last is still read. */
  refresh(): Promise<void>;
  /**
   * Whether a scheduled poll is up to this manager; otherwise another manager polls, and this one only follows the store.
   * A manager that failed to reach origin keeps trying whoever holds the lease, since its status must show when it succeeds.
   */
  shouldPoll(): Promise<boolean>;
  /**
   * Takes or renews the lease if the last poll reached origin and the pass after it applied or refused what origin has;
   * otherwise releases it: only a manager that is up to date with origin may keep other managers from polling.
   */
  updateLease(isUpToDate: boolean): Promise<void>;
  /** Null if there is no origin. */
  status(): OriginStatus | null;
  polling(): Polling | null;
  /** When the last poll ended, or was left to another manager; Unix milliseconds. */
  polledAt(): number;
}

export interface OriginWatchOptions {
  origin: SourceOrigin | null;
  /** Null if no other manager can poll for this one. */
  lease: PollLease | null;
  /** Milliseconds between polls; 0 turns them off. */
  pollInterval: number;
  /** Unix milliseconds. */
  now(): number;
  /** In [0, 1), for spreading retries. */
  random(): number;
}

export function createOriginWatch(options: OriginWatchOptions): OriginWatch {
  const { origin, lease, pollInterval, now, random } = options;
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

  const shouldPoll = async (): Promise<boolean> => {
    if (lease === null || status?.error != null || (await lease.shouldPoll())) return true;
    polledAt = now();
    return false;
  };

  return {
    origin: origin === null ? null : { ...origin, refresh: () => origin.refresh().then(markReached) },
    refresh,
    shouldPoll,
    updateLease: async (isUpToDate) => {
      if (isUpToDate && status?.error == null) await lease?.renew();
      else await lease?.release();
    },
    status: () => status,
    polling: () => (origin === null ? null : pollingBy(lease, pollInterval)),
    polledAt: () => polledAt,
  };
}

function pollingBy(lease: PollLease | null, pollInterval: number): Polling {
  const holder = lease?.holder() ?? null;
  return { isOurs: pollInterval > 0 && holder?.isThisOne !== false, by: holder?.name ?? null };
}
