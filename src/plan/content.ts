import type { Content } from '../desired/content.ts';
import { sameValue } from '../desired/values.ts';

/**
 * Whether two contents tell devices the same. The order of a list counts, that of a map's keys does not. A field that
 * only one side has is a difference, so a content that was stored before a field existed must be completed with the
 * field's default first.
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
