import type { Kind } from '../protocol/name.ts';
import type { AtRevision, ObjectReads, StoredObject } from './store.ts';

/** Reads an object by kind and name. `value` is null if there is no such object. */
export function storedObject(
  store: ObjectReads,
  kind: Kind,
  name: string,
): Promise<AtRevision<StoredObject | null>> {
  return kind === 'app' ? store.app(name) : store.group(name);
}
