import { blockScalars, protectLinesBelow } from './block-scalar.ts';
import type { Slot } from './diff.ts';
import type { CollectionPart, Entry } from './layout.ts';
import {
  isFirstOnLine,
  joinLines,
  lineStart,
  nextLineStart,
  trimTrailingBlanks,
  triviaLines,
} from './lines.ts';
import type { Patch } from './patch.ts';
import { entryLines, hasEntries, type NewEntry } from './render.ts';
import { collectionStyle, type TextStyle } from './text-style.ts';

/** Longest line of a new value in flow style; a longer one becomes a block even if its neighbors are in flow style. */
const MAX_FLOW_LINE = 80;

/**
 * Adds and removes entries of a map or list in block style, as `slots` say. At least one entry must remain. `holder` is
 * the pair or item whose value the block is; undefined for the top-level map.
 */
export function editBlock(
  patch: Patch,
  part: CollectionPart,
  slots: Slot[],
  style: TextStyle,
  holder?: Entry,
): void {
  const removed = removeFirstBehindDash(patch, slots);
  let above: Entry | undefined;
  for (const { old, next } of slots.slice(removed)) {
    if (old !== undefined && next === undefined) {
      removeEntry(patch, old);
      if (above !== undefined) protectLinesBelow(patch, above, old, part.column);
    } else above = old;
  }
  addEntries(patch, part, slots, collectionStyle(patch.text, part, style), holder);
}

/** Removes the lines of an entry with the comment at their end. A dash before it on its first line stays. */
export function removeEntry(patch: Patch, { start, end }: Entry): void {
  const { text } = patch;
  if (isFirstOnLine(text, start)) {
    patch.remove(lineStart(text, start), nextLineStart(text, end));
    return;
  }
  const line = lineStart(text, start);
  const rest = trimTrailingBlanks(text.slice(end, nextLineStart(text, end)));
  patch.remove(line + trimTrailingBlanks(text.slice(line, start)).length, end + rest.length);
}

/**
 * Removes the first entries of a block that begins behind a dash (`- a: 1`), if the first entry that stays can move up to
 * the dash: that is, if there are no comments between them. Returns the number of removed entries.
 */
function removeFirstBehindDash(patch: Patch, slots: Slot[]): number {
  const first = slots[0]?.old;
  if (first === undefined || slots[0]?.next !== undefined || isFirstOnLine(patch.text, first.start)) return 0;
  const count = slots.findIndex(({ next }) => next !== undefined);
  const successor = slots[count]?.old;
  const hasComments = slots
    .slice(0, count)
    .some(({ old }) => old !== undefined && hasCommentBelow(patch.text, old));
  if (successor === undefined || hasComments) return 0;
  patch.remove(first.start, successor.start);
  return count;
}

function hasCommentBelow(text: string, { end }: Entry): boolean {
  return triviaLines(text, nextLineStart(text, end)).some(({ commentColumn }) => commentColumn !== undefined);
}

/** Adds each new entry below the entry before it, or at the top of the block. */
function addEntries(
  patch: Patch,
  part: CollectionPart,
  slots: Slot[],
  style: TextStyle,
  holder?: Entry,
): void {
  const { text, eol } = patch;
  let previous: Entry | undefined;
  /** Where the entries below `previous` go, once it is known. */
  let offset: number | undefined;
  for (const { old, next, movedFrom } of slots) {
    if (old !== undefined || next === undefined) {
      previous = old;
      offset = undefined;
      continue;
    }
    const lines =
      cutMovedLines(patch, part, movedFrom) ?? joinLines(newLines(part, next, style), part.column, eol);
    offset ??=
      previous === undefined
        ? offsetOfFirst(text, part, holder)
        : endWithComments(text, previous.end, part.column);
    const isBehindDash = offset === part.start && !isFirstOnLine(text, offset);
    patch.insert(offset, isBehindDash ? lines.slice(part.column) + ' '.repeat(part.column) : lines);
  }
}

type Span = [start: number, end: number];

/** Removes the lines of a moved item from the text and returns them; undefined if it has to be written again. */
function cutMovedLines(patch: Patch, part: CollectionPart, moved: Entry | undefined): string | undefined {
  const span = moved && movedSpan(patch.text, part, moved);
  if (span === undefined) return undefined;
  patch.remove(...span);
  return patch.text.slice(...span);
}

/**
 * The lines that belong to a moved item: its own lines with the comment at their end, and the comments right above it. Those
 * above the first item stay, since they can be about the list. Undefined if the item does not begin its line or holds a block
 * scalar.
 */
function movedSpan(text: string, { entries }: CollectionPart, moved: Entry): Span | undefined {
  if (!isFirstOnLine(text, moved.start)) return undefined;
  // What follows a block scalar can become part of it, and blank lines can belong to it.
  if (blockScalars(moved.value).length > 0) return undefined;
  let start = lineStart(text, moved.start);
  const indent = text.slice(start, moved.start);
  while (moved !== entries[0] && start > 0) {
    const above = lineStart(text, start - 1);
    if (!text.startsWith(`${indent}#`, above)) break;
    start = above;
  }
  return [start, nextLineStart(text, moved.end)];
}

/** Where a new first entry goes: above the comments of the present first entry or, behind a dash, right before that. */
function offsetOfFirst(text: string, { start }: CollectionPart, holder: Entry | undefined): number {
  return isFirstOnLine(text, start) ? nextLineStart(text, holder?.propsEnd ?? 0) : start;
}

/** The lines of a new entry: in flow style if its neighbors are and it fits, in block style otherwise. */
function newLines(part: CollectionPart, entry: NewEntry, style: TextStyle): string[] {
  if (hasEntries(entry.value) && areSiblingsFlow(part, entry.value)) {
    const lines = entryLines(entry, style, true);
    if (lines.every((line) => part.column + line.length <= MAX_FLOW_LINE)) return lines;
  }
  return entryLines(entry, style);
}

/** Whether there are other values of the same kind (map or list) that are not empty, and all of them are in flow style. */
function areSiblingsFlow(part: CollectionPart, value: object): boolean {
  const kind = Array.isArray(value) ? 'list' : 'map';
  const siblings = part.entries.map((entry) => entry.value).filter((sibling) => sibling.kind === kind);
  const filled = siblings.filter((sibling) => sibling.kind !== 'scalar' && sibling.entries.length > 0);
  return filled.length > 0 && filled.every((sibling) => sibling.kind !== 'scalar' && sibling.form === 'flow');
}

/**
 * The offset of the line below an entry that ends at `end`, and below the comments that belong to it: those indented
 * further than `column`, the column of the entry.
 */
export function endWithComments(text: string, end: number, column: number): number {
  let offset = nextLineStart(text, end);
  for (const line of triviaLines(text, offset)) {
    if (line.commentColumn === undefined) continue;
    if (line.commentColumn <= column) break;
    offset = line.end;
  }
  return offset;
}
