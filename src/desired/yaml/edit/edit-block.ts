import { settleBelow } from './block-scalar.ts';
import type { Slot } from './diff.ts';
import type { CollectionPart, Entry } from './layout.ts';
import { joinLines, lineEnd, lineStart, quietLines, startsLine, trimBlanks } from './lines.ts';
import type { Patch } from './patch.ts';
import { type Pen, penOf } from './pen.ts';
import { entryLines, hasEntries, type NewEntry } from './render.ts';

/** Longest line for a new value in flow style; a longer one is written as a block even beside flow neighbours. */
const MAX_FLOW_LINE = 80;

/**
 * Adds and removes entries of a block as `slots` say. At least one entry must be left afterwards. `holder` is the pair
 * or item that has the block as its value; none for the top of the file.
 */
export function editBlock(patch: Patch, part: CollectionPart, slots: Slot[], pen: Pen, holder?: Entry): void {
  const joined = joinFirst(patch, slots);
  let above: Entry | undefined;
  for (const { old, next } of slots.slice(joined)) {
    if (old !== undefined && next === undefined) {
      removeEntry(patch, old);
      if (above !== undefined) settleBelow(patch, above, old, part.column);
    } else above = old;
  }
  addEntries(patch, part, slots, penOf(patch.text, part, pen), holder);
}

/** Removes an entry's lines with the comment at their end. A dash in front of the entry on its line stays. */
export function removeEntry(patch: Patch, { start, end }: Entry): void {
  const { text } = patch;
  if (startsLine(text, start)) {
    patch.remove(lineStart(text, start), lineEnd(text, end));
    return;
  }
  const from = lineStart(text, start);
  const rest = trimBlanks(text.slice(end, lineEnd(text, end)));
  patch.remove(from + trimBlanks(text.slice(from, start)).length, end + rest.length);
}

/**
 * Handles the removal of the first entries when they begin behind a dash (`- a: 1`): the first entry that stays moves
 * up to the dash, unless comments stand between. Returns how many slots are done with.
 */
function joinFirst(patch: Patch, slots: Slot[]): number {
  const first = slots[0]?.old;
  if (first === undefined || slots[0]?.next !== undefined || startsLine(patch.text, first.start)) return 0;
  const count = slots.findIndex(({ next }) => next !== undefined);
  const successor = slots[count]?.old;
  const comments = slots
    .slice(0, count)
    .some(({ old }) => old !== undefined && hasCommentsBelow(patch.text, old));
  if (successor === undefined || comments) return 0;
  patch.remove(first.start, successor.start);
  return count;
}

function hasCommentsBelow(text: string, { end }: Entry): boolean {
  return quietLines(text, lineEnd(text, end)).some(({ indent }) => indent !== undefined);
}

/** Adds each new entry below the entry before it, or at the top of the block. */
function addEntries(patch: Patch, part: CollectionPart, slots: Slot[], pen: Pen, holder?: Entry): void {
  const { text, eol } = patch;
  let previous: Entry | undefined;
  let spot: number | undefined;
  for (const { old, next, moved } of slots) {
    if (old !== undefined || next === undefined) {
      previous = old;
      spot = undefined;
      continue;
    }
    const added = takeMoved(patch, part, moved) ?? joinLines(newLines(part, next, pen), part.column, eol);
    spot ??= previous === undefined ? topSpot(text, part, holder) : below(text, previous.end, part.column);
    const isInline = spot === part.start && !startsLine(text, spot);
    patch.insert(spot, isInline ? added.slice(part.column) + ' '.repeat(part.column) : added);
  }
}

/**
 * The lines of an item that moves: its own with the comment at its end, and the comments right above it, unless it is the
 * first item, where they can be about the list. Undefined for an item that has more or less than a line.
 */
function movedLines(text: string, { entries }: CollectionPart, moved: Entry | undefined): Span | undefined {
  if (moved === undefined || !startsLine(text, moved.start)) return undefined;
  if (text.slice(moved.start, moved.end).includes('\n')) return undefined;
  let start = lineStart(text, moved.start);
  const lead = text.slice(start, moved.start);
  while (moved !== entries[0] && start > 0) {
    const above = lineStart(text, start - 1);
    if (!text.startsWith(`${lead}#`, above)) break;
    start = above;
  }
  return [start, lineEnd(text, moved.end)];
}

type Span = [start: number, end: number];

/** Takes the lines of an item that moves out of the text, for another place. */
function takeMoved(patch: Patch, part: CollectionPart, moved: Entry | undefined): string | undefined {
  const lines = movedLines(patch.text, part, moved);
  if (lines === undefined) return undefined;
  patch.remove(...lines);
  return patch.text.slice(...lines);
}

/** Where a new first entry goes: above the comments of the present first one, or right before it behind a dash. */
function topSpot(text: string, { start }: CollectionPart, holder: Entry | undefined): number {
  return startsLine(text, start) ? lineEnd(text, holder?.props ?? 0) : start;
}

/** The lines of a new entry: in flow style if its neighbours are and it fits, in block style otherwise. */
function newLines(part: CollectionPart, entry: NewEntry, pen: Pen): string[] {
  if (hasEntries(entry.value) && siblingsFlow(part, entry.value)) {
    const lines = entryLines(entry, pen, true);
    if (lines.every((line) => part.column + line.length <= MAX_FLOW_LINE)) return lines;
  }
  return entryLines(entry, pen);
}

/** Whether the neighbours of a new collection that are of its kind (map or list) are all in flow style. */
function siblingsFlow(part: CollectionPart, value: object): boolean {
  const kind = Array.isArray(value) ? 'list' : 'map';
  const siblings = part.entries.map((entry) => entry.value).filter((sibling) => sibling.kind === kind);
  const filled = siblings.filter((sibling) => sibling.kind !== 'scalar' && sibling.entries.length > 0);
  return filled.length > 0 && filled.every((sibling) => sibling.kind !== 'scalar' && sibling.form === 'flow');
}

/**
 * The offset of the line below an entry that ends at `end`, and below the comments that belong to it: those that are
 * indented further than `column`.
 */
export function below(text: string, end: number, column: number): number {
  let at = lineEnd(text, end);
  for (const line of quietLines(text, at)) {
    if (line.indent === undefined) continue;
    if (line.indent <= column) break;
    at = line.end;
  }
  return at;
}
