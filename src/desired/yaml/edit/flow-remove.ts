import type { Slot } from './diff.ts';
import { endWithComma, type RemovedComments, slotsAfterLastKept } from './flow.ts';
import type { CollectionPart, Entry } from './layout.ts';
import { isFirstOnLine, isLastOnLine, lineStart, nextLineStart, trimTrailingBlanks } from './lines.ts';
import type { Patch } from './patch.ts';

/**
 * Removes the old entries of a flow collection that `slots` pair with no new one. Returns, by moved entry, the comments that
 * are removed with it. Neighbors on one line are removed in one piece.
 */
export function removeFromFlow(patch: Patch, part: CollectionPart, slots: readonly Slot[]): RemovedComments {
  const { text } = patch;
  const { entries } = part;
  const removed = new Set(slots.filter(({ next }) => next === undefined).map(({ old }) => old));
  const addsAtEnd = slotsAfterLastKept(slots).some(({ old }) => old === undefined);
  const spans: Span[] = [];
  for (let from = 0; from < entries.length; from++) {
    if (!removed.has(entries[from])) continue;
    let to = from;
    while (removed.has(entries[to + 1]) && isNextOnLine(text, entries, to)) to++;
    spans.push(removalSpan(text, part, { from, to, removed, addsAtEnd }));
    from = to;
  }
  for (const span of spans) patch.remove(...span);
  const moved = new Set(slots.map(({ movedFrom }) => movedFrom));
  return new Map(
    entries.flatMap((entry, index): [Entry, string][] => {
      if (!moved.has(entry)) return [];
      const gap: Span = [entry.end, entries[index + 1]?.start ?? part.end];
      return [[entry, removedComments(text, gap, spans)]];
    }),
  );
}

type Span = [start: number, end: number];

/** The comments of a gap between entries that are within removed spans, on one line. */
function removedComments(text: string, [start, end]: Span, spans: readonly Span[]): string {
  // Without the look behind, each blank of a long run would be tried as the first one.
  return Array.from(text.slice(start, end).matchAll(/(?<![ \t])[ \t]*#[^\n]*/g), ({ 0: comment, index }) => {
    const at = start + index;
    return spans.some(([from, to]) => at >= from && at < to) ? trimTrailingBlanks(comment) : '';
  }).join('');
}

/** Whether the next entry begins on the line on which this one ends. */
function isNextOnLine(text: string, entries: readonly Entry[], index: number): boolean {
  const [entry, next] = [entries[index], entries[index + 1]];
  return (
    entry !== undefined && next !== undefined && !text.slice(endWithComma(entry), next.start).includes('\n')
  );
}

/** Removed neighbors on one line. */
interface Run {
  /** The indexes of the first and the last one. */
  from: number;
  to: number;
  /** All removed entries of the collection. */
  removed: ReadonlySet<Entry | undefined>;
  /** Whether new entries are added at the end of the collection. */
  addsAtEnd: boolean;
}

/** The range of a removed run together with what belongs to it: comma, comment, blanks and line break. */
function removalSpan(text: string, part: CollectionPart, run: Run): Span {
  const { entries } = part;
  const [first, last] = [entries[run.from], entries[run.to]] as [Entry, Entry];
  const previous = entries[run.from - 1];
  const previousEnd = previous === undefined ? part.start + 1 : endWithComma(previous);
  const end = endWithComma(last);
  if (isFirstOnLine(text, first.start) && isLastOnLine(text, end)) {
    return [lineStart(text, first.start), nextLineStart(text, end)];
  }
  if (isNextOnLine(text, entries, run.to)) return [first.start, entries[run.to + 1]?.start ?? end];
  if (isNextOnLine(text, entries, run.from - 1)) return [previousEnd, end];
  if (isFirstOnLine(text, first.start)) {
    return [run.addsAtEnd ? first.start : closingLineStart(text, part, run), end];
  }
  const rest = trimTrailingBlanks(text.slice(end, nextLineStart(text, end)));
  return [previousEnd, isLastOnLine(text, end) ? end + rest.length : end];
}

/**
 * Where the removal of a run on the line of the closing bracket begins: behind the last entry that stays, so that the
 * bracket moves up to it; at the run itself if there are comments between, since the bracket would end up in one.
 */
function closingLineStart(text: string, { entries, start }: CollectionPart, { from, removed }: Run): number {
  let index = from;
  while (removed.has(entries[index - 1])) index--;
  const gaps = entries.slice(index, from + 1).map((entry, offset) => {
    const previous = entries[index + offset - 1];
    return text.slice(previous === undefined ? start + 1 : endWithComma(previous), entry.start);
  });
  const [first = '', ...others] = gaps;
  // A comment behind a removed entry, on its line, is removed with that.
  const hasComments = first.includes('#') || others.some((gap) => /\n[ \t]*#/.test(gap));
  const entry = entries[hasComments ? from : index] as Entry;
  return hasComments ? entry.start : entry.start - first.length;
}
