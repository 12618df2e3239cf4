import { HoldfastError } from '../../../errors.ts';
import { readingTrouble } from '../process/disk-trouble.ts';

/**
 * Turns every failure of git to read into `unavailable`: whoever reads tries again later. The message is the sentence,
 * with what to do where that is known.
 */
export async function guarded<T>(
  read: () => Promise<T>,
  sentence = 'git could not read the repository',
): Promise<T> {
  try {
    return await read();
  } catch (error) {
    if (error instanceof HoldfastError) throw error;
    const message = readingTrouble(sentence, error);
    throw new HoldfastError('unavailable', message, {}, error);
  }
}
