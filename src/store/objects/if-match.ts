import { HoldfastError } from '../../errors.ts';
import type { StoredObject } from './port.ts';

/**
 * Returns the entity tags of an object, with their quotes (RFC 9110, 8.8.3). The first changes with every field of the
 * record, so it is the `ETag`. A group has a second one, which does not change when images are pruned.
 */
export function tagsOf(object: StoredObject): [etag: string, ...others: string[]] {
  if (object.kind === 'app') return [`"${object.appId}"`];
  if (object.kind === 'device') return [`"${object.deviceId}"`];
  const { deviceGroupId, pruneId } = object;
  return [`"${deviceGroupId}-${pruneId}"`, `"${deviceGroupId}"`];
}

/**
 * Checks `If-Match` before a change. Returns null if the object has one of the entity tags in `ifMatch`, or `ifMatch`
 * is null; otherwise a `moved-on` error. `object` is null if there is no such object.
 */
export function ifMatchRefusal(
  object: StoredObject | null,
  ifMatch: readonly string[] | null,
): HoldfastError | null {
  const tags = object === null ? [] : tagsOf(object);
  if (ifMatch === null || tags.some((tag) => ifMatch.includes(tag))) return null;
  const state = tags.length === 0 ? 'the object has no ETag yet' : `the ETag is ${tags[0]} now`;
  return new HoldfastError('moved-on', `If-Match does not match: ${state}`);
}
