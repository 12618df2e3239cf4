import type { Slot } from './diff.ts';
import { type RemovedComments, slotsAtEnd, tailOf } from './flow.ts';
import type { CollectionPart, Entry } from './layout.ts';
import { endsLine, lineEnd, lineStart, startsLine, trimBlanks } from './lines.ts';
import type { Patch } from './patch.ts';

/**
 * Removes entries of a flow collection as `slots` say, and returns the comments that are removed with them. Neighbours on
 * one line are removed in one piece.
 */
export function removeFromFlow(patch: Patch, part: CollectionPart, slots: readonly Slot[]): RemovedComments {
  const { text } = patch;
  const gone = new Set(slots.filter(({ next }) => next === undefined).map(({ old }) => old));
  const isReplaced = slotsAtEnd(slots).some(({ old }) => old === undefined);
  const comments = new Map<Entry, string>();
  for (let from = 0; from < part.entries.length; from++) {
    if (!gone.has(part.entries[from])) continue;
    let to = from;
    while (gone.has(part.entries[to + 1]) && joinsNext(text, part.entries, to)) to++;
    const [start, end] = removalSpan(text, part, { from, to, gone, isReplaced });
    patch.remove(start, end);
    for (const [index, entry] of part.entries.slice(from, to + 1).entries()) {
      comments.set(entry, commentsIn(text.slice(entry.end, index === to - from ? end : tailOf(entry))));
    }
    from = to;
  }
  return comments;
}

/** The comments in a text without entries, on one line. */
function commentsIn(text: string): string {
  return (text.match(/[ \t]*#[^\n]*/g) ?? []).map(trimBlanks).join('');
}

/** Whether an entry and the next one stand on one line. */
function joinsNext(text: string, entries: readonly Entry[], index: number): boolean {
  const [entry, next] = [entries[index], entries[index + 1]];
  return entry !== undefined && next !== undefined && !text.slice(tailOf(entry), next.start).includes('\n');
}

/** Neighbours on one line that are removed: the indexes of the first and the last one. */
interface Run {
  from: number;
  to: number;
  /** All entries of the collection that are removed. */
  gone: ReadonlySet<Entry | undefined>;
  /** Whether new entries are added at the end of the collection. */
  isReplaced: boolean;
}

/**
 * Where the removal begins for entries that share their line with the closing bracket: behind the last entry that
 * stays, so that the bracket moves up to it, unless the bracket would end up in a comment.
 */
function closingStart(text: string, { entries, start }: CollectionPart, { from, gone }: Run): number {
  let index = from;
  while (gone.has(entries[index - 1])) index--;
  const gaps = entries.slice(index, from + 1).map((entry, offset) => {
    const previous = entries[index + offset - 1];
    return text.slice(previous === undefined ? start + 1 : tailOf(previous), entry.start);
  });
  const [first = '', ...others] = gaps;
  const comments = first.includes('#') || others.some((gap) => /\n[ \t]*#/.test(gap));
  const entry = entries[comments ? from : index] as Entry;
  return comments ? entry.start : entry.start - first.length;
}

/** From where to where to remove a run, with what belongs to it: its comma, comment, blanks and line break. */
function removalSpan(text: string, part: CollectionPart, run: Run): [number, number] {
  const { entries } = part;
  const [first, last] = [entries[run.from], entries[run.to]] as [Entry, Entry];
  const previous = entries[run.from - 1];
  const begin = previous === undefined ? part.start + 1 : tailOf(previous);
  const end = tailOf(last);
  if (startsLine(text, first.start) && endsLine(text, end)) {
    return [lineStart(text, first.start), lineEnd(text, end)];
  }
  if (joinsNext(text, entries, run.to)) return [first.start, entries[run.to + 1]?.start ?? end];
  if (joinsNext(text, entries, run.from - 1)) return [begin, end];
  if (startsLine(text, first.start)) {
    return [run.isReplaced ? first.start : closingStart(text, part, run), end];
  }
  const rest = trimBlanks(text.slice(end, lineEnd(text, end)));
  return [begin, endsLine(text, end) ? end + rest.length : end];
}
