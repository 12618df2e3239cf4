import type { Slot } from './diff.ts';
import type { CollectionPart, Entry } from './layout.ts';
import { endsLine, lineStart, startsLine } from './lines.ts';

/** The comments that are removed together with entries, each with the blanks before it. */
export type RemovedComments = ReadonlyMap<Entry, string>;

/** Whether an entry stays, with the same value or another. */
export function isKept({ old, next }: Slot): boolean {
  return old !== undefined && next !== undefined;
}

/** The offset behind an entry of a flow collection and its comma. */
export function tailOf({ end, comma }: Entry): number {
  return comma === undefined ? end : comma + 1;
}

/**
 * What the last entry has behind it. In a map with a comment in the very first column of a line, the parser insists on a
 * comma.
 */
export function lastComma(text: string, { kind, start, end, entries }: CollectionPart): ',' | '' {
  const needed = kind === 'map' && text.slice(start, end).includes('\n#');
  return needed || entries.at(-1)?.comma !== undefined ? ',' : '';
}

/** The slot that becomes the last entry. */
export function lastOf(slots: readonly Slot[]): Slot | undefined {
  return slots.findLast(({ next }) => next !== undefined);
}

/** The slots behind the last entry that stays: entries that are removed or added at the end of the collection. */
export function slotsAtEnd(slots: readonly Slot[]): readonly Slot[] {
  return slots.slice(slots.findLastIndex(isKept) + 1);
}

/** Whether an entry shares its lines with no other. */
export function ownsLines(text: string, entry: Entry): boolean {
  return startsLine(text, entry.start) && endsLine(text, tailOf(entry));
}

/**
 * Where the removed entries in front of the closing bracket begin, if they have had its line for themselves: new entries
 * at the end of the collection are written there. Undefined in all other cases.
 */
export function closingSpot(text: string, slots: readonly Slot[]): number | undefined {
  const removed = slotsAtEnd(slots).flatMap(({ old }) => (old === undefined ? [] : [old]));
  const last = removed.at(-1);
  if (last === undefined || endsLine(text, tailOf(last))) return undefined;
  const closing = lineStart(text, last.start);
  const first = removed.find(({ start }) => start >= closing);
  return first !== undefined && startsLine(text, first.start) ? first.start : undefined;
}
