import { HoldfastError } from '../errors.ts';

/** The rejection of a change whose `If-Match` does not name the id that its object has now; undefined where it has none. */
export function movedOn(id: number | undefined): HoldfastError {
  return new HoldfastError('moved-on', `If-Match does not hold: the id is ${id ?? 'not assigned'} now`);
}
