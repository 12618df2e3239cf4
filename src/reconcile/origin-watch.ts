import { asHoldfastError, isOfShutdown } from '../errors.ts';
import type { SourceOrigin } from '../source/source.ts';
import type { PollLease } from '../store/poll-lease.ts';
import { describeError } from './backoff.ts';
import type { OriginStatus, Polling } from './status.ts';

/** Asks origin what is new, and remembers how that went. */
export interface OriginWatch {
  /** Origin as passes see it, which ask by themselves where the store is ahead. Null where there is none. */
  readonly origin: SourceOrigin | null;
  /** Never rejects; what was fetched last stays what is read. */
  refresh(): Promise<void>;
  /**
   * Whether the look that the clock calls for is to ask origin. Otherwise another manager does that, and the look is one
   * at the store. A manager that did not reach origin last time goes on trying: its status is to say when it does.
   */
  isOurTurn(): Promise<boolean>;
  /**
   * Told whether the pass after a look ended well: only who brings news from origin into the store keeps the others
   * from asking.
   */
  conclude(isGood: boolean): Promise<void>;
  /** Null where there is no origin to ask. */
  status(): OriginStatus | null;
  polling(): Polling | null;
  /** When the last look ended; Unix milliseconds. */
  lookedAt(): number;
}

export interface OriginWatchOptions {
  origin: SourceOrigin | null;
  /** Null where no other manager can ask for this one. */
  lease: PollLease | null;
  /** Milliseconds between looks by the clock; 0 turns them off. */
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
