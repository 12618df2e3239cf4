import { HoldfastError, messageOf } from '../errors.ts';
import type { ObjectReads } from '../store/store.ts';
import { storedObject } from '../store/stored-object.ts';
import type { QueuedWrite } from './queued-write.ts';

/**
 * Tells the caller of a write that it is done, with the object as it is in the store now. So this must be called before
 * a later write begins. `revision` is the commit, which is applied by now; null if none was needed.
 */
export async function answer(
  { write, resolve, reject }: QueuedWrite,
  revision: string | null,
  store: ObjectReads,
): Promise<void> {
  try {
    const object = await storedObject(store, write.kind, write.name);
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
