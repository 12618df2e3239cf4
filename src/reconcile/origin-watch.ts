import { asHoldfastError, isOfShutdown } from '../errors.ts';
import type { SourceOrigin } from '../source/source.ts';
import type { PollLease } from '../store/poll-lease.ts';
import { describeError } from './backoff.ts';
import type { OriginStatus, Polling } from './status.ts';

/** Polls origin, and remembers how that went. */
export interface OriginWatch {
  /** Origin for passes, which fetch by themselves if the store is ahead. Null if there is none. */
  readonly origin: SourceOrigin | null;
  /** Fetches. Never rejects: what was fetched last stays what is read. */
  refresh(): Promise<void>;
  /**
   * Whether a poll by the clock is this manager's. Otherwise another one polls, and this one only follows the store. A
   * manager that did not reach origin last time goes on trying, since its status has to say when it does.
   */
  isOurTurn(): Promise<boolean>;
  /**
   * Says whether the pass after a poll ended well: only a manager that brings news from origin into the store keeps the
   * others from polling.
   */
  conclude(isGood: boolean): Promise<void>;
  /** Null if there is no origin. */
  status(): OriginStatus | null;
  polling(): Polling | null;
  /** When the last poll ended; Unix milliseconds. */
  lookedAt(): number;
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
  let lookedAt = now();

  const reached = (): void => {
    if (status !== null) status = { reachedAt: now(), error: null, cause: null };
  };

  const refresh = async (): Promise<void> => {
    try {
      await origin?.refresh();
      reached();
    } catch (error) {
      const known = asHoldfastError(error);
      // What the manager ended itself says nothing about origin.
      if (status === null || isOfShutdown(error)) return;
      const told = describeError(known, status.error, now(), random());
      status = { ...status, error: told, cause: known.cause };
    } finally {
      lookedAt = now();
    }
  };

  const isOurTurn = async (): Promise<boolean> => {
    if (lease === null || status?.error != null || (await lease.isOurTurn())) return true;
    lookedAt = now();
    return false;
  };

  return {
    origin: origin === null ? null : { ...origin, refresh: () => origin.refresh().then(reached) },
    refresh,
    isOurTurn,
    conclude: async (isGood) => {
      if (isGood && status?.error == null) await lease?.keep();
      else await lease?.giveUp();
    },
    status: () => status,
    polling: () => (origin === null ? null : pollingBy(lease, pollInterval)),
    lookedAt: () => lookedAt,
  };
}

function pollingBy(lease: PollLease | null, pollInterval: number): Polling {
  const holder = lease?.holder() ?? null;
  return { isOurs: pollInterval > 0 && holder?.isThisOne !== false, by: holder?.name ?? null };
}
