import { HoldfastError } from '../errors.ts';
import type { PassOutcome } from '../reconcile/pass.ts';

/**
 * The outcome of a pass, or `unavailable` if it is not over within `limit` milliseconds. The pass itself goes on: a first
 * fetch of a long history can take an hour, and no caller waits that long.
 */
export async function passWithin(limit: number, pass: Promise<PassOutcome>): Promise<PassOutcome> {
  let timer: NodeJS.Timeout | undefined;
  const late = new Promise<PassOutcome>((resolve) => {
    const error = new HoldfastError('unavailable', 'the repository is being read; try again later');
    timer = setTimeout(() => resolve({ ok: false, error }), limit);
  });
  try {
    return await Promise.race([pass, late]);
  } finally {
    clearTimeout(timer);
  }
}
