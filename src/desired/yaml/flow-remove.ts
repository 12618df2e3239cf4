import type { Slot } from './diff.ts';
import { tailOf } from './flow.ts';
import type { CollectionPart, Entry } from './layout.ts';
import { endsLine, lineEnd, lineStart, startsLine } from './lines.ts';
import type { Draft } from './splice.ts';

/** Removes the entries of a flow collection that `slots` say; neighbours on one line go together. */
export function removeFromFlow(draft: Draft, part: CollectionPart, slots: readonly Slot[]): void {
  const { text } = draft;
  const gone = new Set(slots.filter(({ next }) => next === undefined).map(({ old }) => old));
  const isReplaced = slots.at(-1)?.old === undefined;
  for (let from = 0; from < part.entries.length; from++) {
    if (!gone.has(part.entries[from])) continue;
    let to = from;
    while (gone.has(part.entries[to + 1]) && joinsNext(text, part.entries, to)) to++;
    draft.remove(...removalSpan(text, part, { from, to, gone, isReplaced }));
    from = to;
  }
}

/** Whether an entry and the next one stand on one line. */
function joinsNext(text: string, entries: readonly Entry[], index: number): boolean {
  const [entry, next] = [entries[index], entries[index + 1]];
  return entry !== undefined && next !== undefined && !text.slice(tailOf(entry), next.start).includes('\n');
}

/** The indexes of the first and the last of some neighbours on one line that go. */
interface Run {
  from: number;
  to: number;
  /** All entries that go. */
  gone: ReadonlySet<Entry | undefined>;
  /** Whether new entries come at the end of the collection. */
  isReplaced: boolean;
}

/**
 * From where to remove entries whose line ends with the closing bracket: that bracket moves up to the last entry that
 * stays, unless a comment between would swallow it.
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
  const rest = text.slice(end, lineEnd(text, end)).trimEnd();
  return [begin, endsLine(text, end) ? end + rest.length : end];
}
