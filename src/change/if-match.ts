import type { HoldfastError } from '../errors.ts';
import { movedOn } from '../store/moved-on.ts';
import type { Store } from '../store/store.ts';
import type { Write, WriteRequest } from './write.ts';

/**
 * The `moved-on` error of a write whose `If-Match` does not name the present id of its object; null if the write may
 * go on. Callers tell it only after everything that is wrong with the request itself (docs/api.md has the order).
 */
export async function ifMatchRefusal(
  { write, context }: WriteRequest,
  store: Pick<Store, 'app' | 'group'>,
): Promise<HoldfastError | null> {
  if (context.ifMatch === null) return null;
  const id = await idOf(write, store);
  if (id !== undefined && context.ifMatch.includes(id)) return null;
  return movedOn(id);
}

async function idOf({ kind, name }: Write, store: Pick<Store, 'app' | 'group'>): Promise<number | undefined> {
  if (kind === 'app') return (await store.app(name)).value?.appId;
  return (await store.group(name)).value?.deviceGroupId;
}
