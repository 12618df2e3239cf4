import type { Slot } from './diff.ts';
import type { CollectionPart, Entry } from './layout.ts';
import { endsLine, lineStart, startsLine } from './lines.ts';

/** Behind an entry of a flow collection and its comma. */
export function tailOf({ end, comma }: Entry): number {
  return comma === undefined ? end : comma + 1;
}

/** What follows the last entry; before a comment at the very start of a line the parser needs a comma in a map. */
export function lastComma(text: string, { kind, start, end, entries }: CollectionPart): ',' | '' {
  const needed = kind === 'map' && text.slice(start, end).includes('\n#');
  return needed || entries.at(-1)?.comma !== undefined ? ',' : '';
}

/** The slot that becomes the last entry. */
export function lastOf(slots: readonly Slot[]): Slot | undefined {
  return slots.findLast(({ next }) => next !== undefined);
}

/** Whether an entry has its lines for itself. */
export function ownsLines(text: string, entry: Entry): boolean {
  return startsLine(text, entry.start) && endsLine(text, tailOf(entry));
}

/**
 * Where entries begin that stand alone on the line of the closing bracket, when all of them are removed: new entries
 * at the end of the collection take their place.
 */
export function closingSpot(
  text: string,
  { entries }: CollectionPart,
  slots: readonly Slot[],
): number | undefined {
  const from = slots.findLastIndex(({ old, next }) => old !== undefined && next !== undefined) + 1;
  const removed = entries.slice(from);
  const last = removed.at(-1);
  if (last === undefined || endsLine(text, tailOf(last))) return undefined;
  const closing = lineStart(text, last.start);
  const first = removed.find(({ start }) => start >= closing);
  return first !== undefined && startsLine(text, first.start) ? first.start : undefined;
}
