import type { Content } from '../desired/content.ts';
import { type Fields, isMapValue, sameValue } from '../protocol/values.ts';

/** A field, or a key of a field that is a map. */
export type Leaf = readonly [field: string] | readonly [field: string, key: string];

/** Returns a leaf as people write it: `env_vars.LOG_LEVEL`. */
export function leafName(leaf: Leaf): string {
  return leaf.join('.');
}

/** Returns the leaves in which two contents differ. A map that is missing counts as an empty one. */
export function leavesBetween(before: Content, after: Content): Leaf[] {
  const [old, now] = [before as Fields, after as Fields];
  return keysOf(old, now).flatMap((field): Leaf[] => {
    const [from, to] = [old[field], now[field]];
    if (sameValue(from, to)) return [];
    if (!isMapValue(from ?? to) || !isMapValue(to ?? from)) return [[field]];
    const [a, b] = [(from ?? {}) as Fields, (to ?? {}) as Fields];
    return keysOf(a, b).flatMap((key): Leaf[] => (sameValue(a[key], b[key]) ? [] : [[field, key]]));
  });
}

/** Returns the value of a leaf; undefined if there is none. */
export function valueAt(fields: object, [field, key]: Leaf): unknown {
  const value = (fields as Fields)[field];
  if (key === undefined) return value;
  return isMapValue(value) && Object.hasOwn(value, key) ? value[key] : undefined;
}

/** Returns a copy in which a leaf has this value; undefined removes it, and a map that it leaves empty. */
export function withValue(fields: Fields, [field, key]: Leaf, value: unknown): Fields {
  if (key === undefined) return set(fields, field, value);
  const old = fields[field];
  const map = set(isMapValue(old) ? old : {}, key, value);
  return set(fields, field, Object.keys(map).length === 0 ? undefined : map);
}

function set(fields: Fields, key: string, value: unknown): Fields {
  if (value !== undefined) return { ...fields, [key]: value };
  return Object.fromEntries(Object.entries(fields).filter(([other]) => other !== key));
}

function keysOf(a: Fields, b: Fields): string[] {
  return [...new Set([...Object.keys(a), ...Object.keys(b)])];
}
