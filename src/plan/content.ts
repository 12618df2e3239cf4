import type { Content } from '../desired/parse.ts';

/**
 * Whether two contents tell devices the same: maps are equal in any order of keys, lists only in the same
 * order. A field that only one side has makes them differ, so contents that were stored before a field existed
 * have to be completed with its default first.
 */
export function sameContent(a: unknown, b: unknown): boolean {
  if (a === b) return true;
  if (typeof a !== 'object' || typeof b !== 'object' || a === null || b === null) return false;
  if (Array.isArray(a) || Array.isArray(b)) return sameList(a, b);
  const keys = Object.keys(a);
  if (keys.length !== Object.keys(b).length) return false;
  return keys.every(
    (key) =>
      Object.hasOwn(b, key) &&
      sameContent((a as Record<string, unknown>)[key], (b as Record<string, unknown>)[key]),
  );
}

function sameList(a: unknown, b: unknown): boolean {
  if (!Array.isArray(a) || !Array.isArray(b) || a.length !== b.length) return false;
  return a.every((item, index) => sameContent(item, b[index]));
}

/** Names of the top-level fields in which two contents of one kind differ, in the order of the fields. */
export function changedFields(before: Content, after: Content): string[] {
  return Object.keys(after).filter(
    (field) =>
      !sameContent((before as Record<string, unknown>)[field], (after as Record<string, unknown>)[field]),
  );
}
