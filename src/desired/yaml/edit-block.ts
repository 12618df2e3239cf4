import { settleBelow } from './block-scalar.ts';
import type { Slot } from './diff.ts';
import type { CollectionPart, Entry } from './layout.ts';
import { joinLines, lineEnd, lineStart, quietLines, startsLine } from './lines.ts';
import { type Pen, penOf } from './pen.ts';
import { entryLines, hasEntries, type Wanted } from './render.ts';
import type { Draft } from './splice.ts';

/** Beyond this length of a line, a new value is not written in flow style even where its neighbours are. */
const MAX_FLOW_LINE = 80;

/**
 * Adds and removes the entries of a block that `slots` say; at least one entry stays. `holder` is the pair or
 * item whose value the block is.
 */
export function editBlock(draft: Draft, part: CollectionPart, slots: Slot[], pen: Pen, holder?: Entry): void {
  const joined = joinFirst(draft, slots);
  let above: Entry | undefined;
  for (const { old, next } of slots.slice(joined)) {
    if (old !== undefined && next === undefined) {
      removeEntry(draft, old);
      if (above !== undefined) settleBelow(draft, above, old, part.column);
    } else above = old;
  }
  addEntries(draft, part, slots, penOf(draft.text, part, pen), holder);
}

/** Removes an entry's lines with the comment beside it. Where it begins behind a dash, the dash stays. */
export function removeEntry(draft: Draft, { start, end }: Entry): void {
  const { text } = draft;
  if (startsLine(text, start)) {
    draft.remove(lineStart(text, start), lineEnd(text, end));
    return;
  }
  const from = lineStart(text, start);
  const rest = text.slice(end, lineEnd(text, end)).trimEnd();
  draft.remove(from + text.slice(from, start).trimEnd().length, end + rest.length);
}

/**
 * When the first entries go and share their line with a dash (`- a: 1`), the first one that stays moves up to
 * that dash, unless there are comments between. Returns how many slots this took care of.
 */
function joinFirst(draft: Draft, slots: Slot[]): number {
  const first = slots[0]?.old;
  if (first === undefined || slots[0]?.next !== undefined || startsLine(draft.text, first.start)) return 0;
  const count = slots.findIndex(({ next }) => next !== undefined);
  const heir = slots[count]?.old;
  const comments = slots
    .slice(0, count)
    .some(({ old }) => old !== undefined && hasCommentsBelow(draft.text, old));
  if (heir === undefined || comments) return 0;
  draft.remove(first.start, heir.start);
  return count;
}

function hasCommentsBelow(text: string, { end }: Entry): boolean {
  return quietLines(text, lineEnd(text, end)).some(({ indent }) => indent !== undefined);
}

/** Adds new entries below the ones before them, or at the top of the block. */
function addEntries(draft: Draft, part: CollectionPart, slots: Slot[], pen: Pen, holder?: Entry): void {
  const { text, eol } = draft;
  let previous: Entry | undefined;
  let spot: number | undefined;
  for (const { old, next } of slots) {
    if (old !== undefined || next === undefined) {
      previous = old;
      spot = undefined;
      continue;
    }
    const added = joinLines(newLines(part, next, pen), part.column, eol);
    spot ??= previous === undefined ? topSpot(text, part, holder) : below(text, previous.end, part.column);
    const isInline = spot === part.start && !startsLine(text, spot);
    draft.insert(spot, isInline ? added.slice(part.column) + ' '.repeat(part.column) : added);
  }
}

/** Above the comments of the first entry; right before that entry where it stands behind a dash. */
function topSpot(text: string, { start }: CollectionPart, holder: Entry | undefined): number {
  return startsLine(text, start) ? lineEnd(text, holder?.props ?? 0) : start;
}

function newLines(part: CollectionPart, wanted: Wanted, pen: Pen): string[] {
  if (hasEntries(wanted.value) && siblingsFlow(part, wanted.value)) {
    const lines = entryLines(wanted, pen, true);
    if (lines.every((line) => part.column + line.length <= MAX_FLOW_LINE)) return lines;
  }
  return entryLines(wanted, pen);
}

/** Whether the collections of the same kind beside a new one are all in flow style. */
function siblingsFlow(part: CollectionPart, value: object): boolean {
  const kind = Array.isArray(value) ? 'list' : 'map';
  const siblings = part.entries.map((entry) => entry.value).filter((sibling) => sibling.kind === kind);
  const filled = siblings.filter((sibling) => sibling.kind !== 'scalar' && sibling.entries.length > 0);
  return filled.length > 0 && filled.every((sibling) => sibling.kind !== 'scalar' && sibling.form === 'flow');
}

/** Behind an entry that ends at `end` and the comments below it that are further to the right: they speak of it. */
export function below(text: string, end: number, column: number): number {
  let at = lineEnd(text, end);
  for (const line of quietLines(text, at)) {
    if (line.indent === undefined) continue;
    if (line.indent <= column) break;
    at = line.end;
  }
  return at;
}
