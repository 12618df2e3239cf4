import { HoldfastError, messageOf } from '../errors.ts';
import type { AtRevision, Store, StoredApp, StoredGroup } from '../store/store.ts';
import type { QueuedWrite } from './queued-write.ts';
import type { Write } from './write.ts';

/** What the store has of the object of a write. */
export function storedObject(
  { kind, name }: Pick<Write, 'kind' | 'name'>,
  store: Pick<Store, 'app' | 'group'>,
): Promise<AtRevision<StoredApp | StoredGroup | null>> {
  return kind === 'app' ? store.app(name) : store.group(name);
}

/**
 * Tells the caller of a write that it is done, with the object as it is in the store now. So this must be called before
 * a later write begins. `revision` is the commit, which is applied by now; null if none was needed.
 */
export async function answer(
  { write, resolve, reject }: QueuedWrite,
  revision: string | null,
  store: Pick<Store, 'app' | 'group'>,
): Promise<void> {
  try {
    const object = await storedObject(write, store);
    const isThere = object.value !== null || write.op === 'delete';
    if (revision === null || isThere) return resolve({ revision, object });
    const message = 'the commit is applied, and a later one has taken the object away again';
    reject(new HoldfastError('conflict', message, { revision, applied: true }));
  } catch (error) {
    if (revision === null) return reject(error);
    const message = `the commit is applied, but the store could not be read: ${messageOf(error)}`;
    reject(new HoldfastError('unavailable', message, { revision, applied: true }, error));
  }
}
