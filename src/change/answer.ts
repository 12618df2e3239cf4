import { HoldfastError, messageOf } from '../errors.ts';
import type { AtRevision, Store, StoredApp, StoredGroup } from '../store/store.ts';
import type { QueuedWrite } from './queued-write.ts';
import type { Write } from './write.ts';

/** What the store has of the object that a write is about. */
export function storedObject(
  { kind, name }: Pick<Write, 'kind' | 'name'>,
  store: Pick<Store, 'app' | 'group'>,
): Promise<AtRevision<StoredApp | StoredGroup | null>> {
  return kind === 'app' ? store.app(name) : store.group(name);
}

/**
 * Tells whoever waits for a write what became of it, with the object as it is now: call it before a later write begins.
 * `revision` is the commit, applied by now; null where none was needed.
 */
export async function answer(
  { write, resolve, reject }: QueuedWrite,
  revision: string | null,
  store: Pick<Store, 'app' | 'group'>,
): Promise<void> {
  try {
    const object = await storedObject(write, store);
    if (revision === null || object.value !== null || write.op === 'delete')
      return resolve({ revision, object });
    const message = 'the commit is applied, and a later one has taken the object away again';
    reject(new HoldfastError('conflict', message, { revision, applied: true }));
  } catch (error) {
    if (revision === null) return reject(error);
    const message = `the commit is applied, but the store could not be read: ${messageOf(error)}`;
    reject(new HoldfastError('unavailable', message, { revision, applied: true }, error));
  }
}
