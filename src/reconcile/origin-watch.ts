import { HoldfastError, messageOf } from '../errors.ts';
import type { SourceOrigin } from '../source/source.ts';
import { describeError } from './backoff.ts';
import type { OriginStatus } from './status.ts';

/** Asks origin what is new, and remembers how that went. */
export interface OriginWatch {
  /** Never rejects; what was fetched last stays what is read. */
  refresh(): Promise<void>;
  /** Null where there is no origin to ask. */
  status(): OriginStatus | null;
  /** When the last look ended; Unix milliseconds. */
  lookedAt(): number;
}

export function createOriginWatch(
  origin: SourceOrigin | null,
  now: () => number,
  random: () => number,
): OriginWatch {
  let status: OriginStatus | null = origin === null ? null : { reachedAt: null, error: null, cause: null };
  let lookedAt = now();

  const refresh = async (): Promise<void> => {
    try {
      await origin?.refresh();
      if (status !== null) status = { reachedAt: now(), error: null, cause: null };
    } catch (error) {
      const known =
        error instanceof HoldfastError ? error : new HoldfastError('internal', messageOf(error), {}, error);
      if (status === null) return;
      const told = describeError(known, status.error, now(), random());
      status = { ...status, error: told, cause: known.cause };
    } finally {
      lookedAt = now();
    }
  };

  return { refresh, status: () => status, lookedAt: () => lookedAt };
}
