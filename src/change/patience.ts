import { HoldfastError } from '../errors.ts';
import type { PassOutcome } from '../reconcile/pass/pass.ts';

/**
 * The outcome of a pass if it is over within `limit` milliseconds; rejects as `unavailable` if it is not. The pass
 * itself goes on: a first fetch of a long history can take an hour, and no caller waits that long.
 */
export async function within<T>(limit: number, pass: Promise<T>): Promise<T> {
  let timer: NodeJS.Timeout | undefined;
  const late = new Promise<never>((_resolve, reject) => {
    const error = new HoldfastError('unavailable', 'the repository is being read; try again later');
    timer = setTimeout(() => reject(error), limit);
  });
  try {
    return await Promise.race([pass, late]);
  } finally {
    clearTimeout(timer);
  }
}

/** The same for passes, whose failures are outcomes. */
export function passWithin(limit: number, pass: Promise<PassOutcome>): Promise<PassOutcome> {
  return within(limit, pass).catch((error: unknown) => {
    if (error instanceof HoldfastError) return { ok: false, error };
    throw error;
  });
}
