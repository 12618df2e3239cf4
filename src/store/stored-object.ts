import type { Kind } from '../desired/name.ts';
import type { AtRevision, ObjectReads, StoredObject } from './store.ts';

/** Reads the object of a kind and name; its value is null where it is not applied. */
export function storedObject(
  store: ObjectReads,
  kind: Kind,
  name: string,
): Promise<AtRevision<StoredObject | null>> {
  return kind === 'app' ? store.app(name) : store.group(name);
}
