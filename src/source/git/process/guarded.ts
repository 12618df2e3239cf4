import { HoldfastError } from '../../../errors.ts';
import { explainFailure } from './disk-trouble.ts';

/**
 * Calls `read`, and turns its failures into `unavailable`, so that callers try again later. The message is `sentence`,
 * followed by the cause and what to do if they are known. Errors that are a HoldfastError already stay as they are.
 */
export async function asUnavailable<T>(
  read: () => Promise<T>,
  sentence = 'git could not read the repository',
): Promise<T> {
  try {
    return await read();
  } catch (error) {
    if (error instanceof HoldfastError) throw error;
    const message = explainFailure(sentence, error);
    throw new HoldfastError('unavailable', message, {}, error);
  }
}
