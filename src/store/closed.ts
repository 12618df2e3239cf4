import { HoldfastError } from '../errors.ts';

/** What a store that was closed answers. */
export function closedError(): HoldfastError {
  return new HoldfastError('unavailable', 'the store is closed');
}
