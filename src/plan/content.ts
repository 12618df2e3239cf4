import type { Content } from '../desired/content.ts';
import { sameValue } from '../desired/values.ts';

/**
 * Whether two contents tell devices the same: maps are equal in any order of keys, lists only in the same
 * order. A field that only one side has makes them differ, so contents that were stored before a field existed
 * have to be completed with its default first.
 */
export function sameContent(a: unknown, b: unknown): boolean {
  return sameValue(a, b);
}

/** Names of the top-level fields in which two contents of one kind differ, in the order of the fields. */
export function changedFields(before: Content, after: Content): string[] {
  return Object.keys(after).filter(
    (field) =>
      !sameContent((before as Record<string, unknown>)[field], (after as Record<string, unknown>)[field]),
  );
}
