import { HoldfastError } from '../errors.ts';

/** Returns the error of every call on a closed store. */
export function closedError(): HoldfastError {
  return new HoldfastError('unavailable', 'the store is closed');
}
