import type { HoldfastError } from '../errors.ts';
import { ifMatchRefusal } from '../store/if-match.ts';
import type { ObjectReads } from '../store/store.ts';
import { storedObject } from '../store/stored-object.ts';
import type { WriteRequest } from './write.ts';

/**
 * The `moved-on` error of a write whose `If-Match` does not name its object as it is; null if the write may go on.
 * Callers tell it only after everything that is wrong with the request itself (docs/api.md has the order).
 */
export async function writeRefusal(
  { write, context }: WriteRequest,
  store: ObjectReads,
): Promise<HoldfastError | null> {
  if (context.ifMatch === null) return null;
  return ifMatchRefusal((await storedObject(store, write.kind, write.name)).value, context.ifMatch);
}
