import type { Slot } from './diff.ts';
import type { CollectionPart, Entry } from './layout.ts';
import { isFirstOnLine, isLastOnLine, lineStart } from './lines.ts';

/** By moved entry, the comments that are removed with it, each with the blanks before it. */
export type RemovedComments = ReadonlyMap<Entry, string>;

/** Whether an entry stays, with the same value or another. */
export function isKept({ old, next }: Slot): boolean {
  return old !== undefined && next !== undefined;
}

/** The offset behind an entry of a flow collection and its comma. */
export function endWithComma({ end, comma }: Entry): number {
  return comma === undefined ? end : comma + 1;
}

/**
 * The comma behind the last entry, or nothing if the collection has none there. A map with a comment in the first column
 * of a line always gets one, since the parser requires it.
 */
export function trailingComma(text: string, { kind, start, end, entries }: CollectionPart): ',' | '' {
  const isRequired = kind === 'map' && text.slice(start, end).includes('\n#');
  return isRequired || entries.at(-1)?.comma !== undefined ? ',' : '';
}

/** The slot that becomes the last entry. */
export function lastSlot(slots: readonly Slot[]): Slot | undefined {
  return slots.findLast(({ next }) => next !== undefined);
}

/** The entries that are removed or added behind the last one that stays. */
export function slotsAfterLastKept(slots: readonly Slot[]): readonly Slot[] {
  return slots.slice(slots.findLastIndex(isKept) + 1);
}

/** Whether an entry shares its lines with no other entry and no bracket. */
export function isAloneOnLines(text: string, entry: Entry): boolean {
  return isFirstOnLine(text, entry.start) && isLastOnLine(text, endWithComma(entry));
}

/**
 * Where new entries at the end of the collection go if all entries on the line of the closing bracket are removed: the
 * offset of the first of these. Undefined if an entry on that line stays, or the line has no entry.
 */
export function offsetOnClosingLine(text: string, slots: readonly Slot[]): number | undefined {
  const removed = slotsAfterLastKept(slots).flatMap(({ old }) => (old === undefined ? [] : [old]));
  const last = removed.at(-1);
  if (last === undefined || isLastOnLine(text, endWithComma(last))) return undefined;
  const closingLine = lineStart(text, last.start);
  const first = removed.find(({ start }) => start >= closingLine);
  return first !== undefined && isFirstOnLine(text, first.start) ? first.start : undefined;
}
