import { HoldfastError } from '../errors.ts';
import type { PassOutcome } from '../reconcile/pass/pass.ts';

/**
 * Resolves to the outcome of a pass that ends within `limit` milliseconds; otherwise rejects as `unavailable`. The pass
 * itself continues: a first fetch of a long history can take an hour, and no caller waits that long.
 */
export async function withinLimit<T>(limit: number, pass: Promise<T>): Promise<T> {
  let timer: NodeJS.Timeout | undefined;
  const timeout = new Promise<never>((_resolve, reject) => {
    const error = new HoldfastError('unavailable', 'the repository is being read; try again later');
    timer = setTimeout(() => reject(error), limit);
  });
  try {
    return await Promise.race([pass, timeout]);
  } finally {
    clearTimeout(timer);
  }
}

/** Like `withinLimit`, but a timeout is a failed outcome, not a rejection. */
export function passWithin(limit: number, pass: Promise<PassOutcome>): Promise<PassOutcome> {
  return withinLimit(limit, pass).catch((error: unknown) => {
    if (error instanceof HoldfastError) return { ok: false, error };
    throw error;
  });
}
