import { HoldfastError } from '../../../errors.ts';
import { readingTrouble } from '../process/disk-trouble.ts';

/**
 * Every failure of git in reading means the same to the loop: look again later. Rejects as `unavailable`, with what to
 * do where that is known.
 */
export async function guarded<T>(read: () => Promise<T>): Promise<T> {
  try {
    return await read();
  } catch (error) {
    if (error instanceof HoldfastError) throw error;
    const message = readingTrouble('git could not read the repository', error);
    throw new HoldfastError('unavailable', message, {}, error);
  }
}
