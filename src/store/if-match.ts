import { HoldfastError } from '../errors.ts';
import type { StoredObject } from './store.ts';

/**
 * The entity tags of an object, with their quotes (RFC 9110, 8.8.3). The first names all that its record shows, so it is the
 * `ETag`; a group has a second one, which stays when images are pruned.
 */
export function tagsOf(object: StoredObject): [etag: string, ...others: string[]] {
  if ('appId' in object) return [`"${object.appId}"`];
  const { deviceGroupId, pruneId } = object;
  return [`"${deviceGroupId}-${pruneId}"`, `"${deviceGroupId}"`];
}

/**
 * Why `If-Match` refuses to change an object (null: there is none), given its tags; null where it does not, as without
 * tags.
 */
export function ifMatchRefusal(
  object: StoredObject | null,
  ifMatch: readonly string[] | null,
): HoldfastError | null {
  const tags = object === null ? [] : tagsOf(object);
  if (ifMatch === null || tags.some((tag) => ifMatch.includes(tag))) return null;
  const now = tags.length === 0 ? 'the object has no ETag yet' : `the ETag is ${tags[0]} now`;
  return new HoldfastError('moved-on', `If-Match does not match: ${now}`);
}
