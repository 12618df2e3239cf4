import type { ObjectKey } from '../desired/name.ts';
import type { HoldfastError } from '../errors.ts';
import { ifMatchRefusal } from '../store/if-match.ts';
import type { ObjectReads } from '../store/store.ts';
import { storedObject } from '../store/stored-object.ts';
import { absent, present } from './refusals.ts';
import type { WriteRequest, WriterDependencies } from './write.ts';

/**
 * The refusal of a request about an object that is neither in the store nor in a file, or, if `isNew`, that creates one
 * which is in the store; null if there is nothing to refuse, as far as is known now.
 */
export async function existenceRefusal(
  { store, reconciler }: Pick<WriterDependencies, 'reconciler'> & { store: ObjectReads },
  { kind, name }: ObjectKey,
  isNew: boolean,
): Promise<HoldfastError | null> {
  const isStored = (await storedObject(store, kind, name)).value !== null;
  if (isNew) return isStored ? present(kind, name) : null;
  const isKnown = isStored || reconciler.passes.desired.pathsOf(kind, name).length > 0;
  return isKnown ? null : absent(kind, name);
}

/**
 * The `moved-on` error of a write whose `If-Match` does not name its object as it is; null if the write may go on.
 * Callers report it only after everything that is wrong with the request itself (docs/api.md has the order).
 */
export async function writeRefusal(
  { write, context }: WriteRequest,
  store: ObjectReads,
): Promise<HoldfastError | null> {
  if (context.ifMatch === null) return null;
  return ifMatchRefusal((await storedObject(store, write.kind, write.name)).value, context.ifMatch);
}
