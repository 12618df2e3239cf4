import type { Slot } from './diff.ts';
import {
  endWithComma,
  isAloneOnLines,
  isKept,
  lastSlot,
  offsetOnClosingLine,
  type RemovedComments,
  trailingComma,
} from './flow.ts';
import type { CollectionPart, Entry } from './layout.ts';
import { columnOf, isFirstOnLine, isLastOnLine, joinLines, nextLineStart } from './lines.ts';
import type { Patch } from './patch.ts';
import { flowEntry, type NewEntry } from './render.ts';
import type { TextStyle } from './text-style.ts';

/**
 * Adds the new entries of a flow collection, each on a line of its own if its neighbor has one. An entry that moves
 * takes its comment in `comments` along.
 */
export function addToFlow(
  patch: Patch,
  part: CollectionPart,
  slots: readonly Slot[],
  comments: RemovedComments,
  style: TextStyle,
): void {
  const { text } = patch;
  const last = lastSlot(slots);
  const trailing = trailingComma(text, part);
  const firstKept = slots.find(isKept)?.old;
  const lastKept = slots.findLast(isKept)?.old;
  for (const { previous, removed, added } of gapsOf(slots)) {
    const texts = added.map((slot): NewText => {
      const { entry, comment } = textOf(text, slot, comments, style);
      return { entry: entry + (slot === last ? trailing : ','), comment };
    });
    const spot = previous === lastKept ? offsetOnClosingLine(text, slots) : undefined;
    if (spot !== undefined) patch.insert(spot, inline(patch, texts, columnOf(text, spot), ''));
    else if (previous !== undefined) addBehind(patch, previous, removed, texts);
    else if (firstKept !== undefined) addBefore(patch, part, firstKept, texts);
  }
}

/** The changes between two kept entries, or at the beginning or end of the collection. */
interface Gap {
  /** The kept entry before the gap. */
  previous: Entry | undefined;
  removed: Entry[];
  added: AddedSlot[];
}

type AddedSlot = Slot & { next: NewEntry };

function gapsOf(slots: readonly Slot[]): Gap[] {
  let gap: Gap = { previous: undefined, removed: [], added: [] };
  const gaps = [gap];
  for (const slot of slots) {
    if (isAdded(slot)) gap.added.push(slot);
    else if (isKept(slot)) {
      gap = { previous: slot.old, removed: [], added: [] };
      gaps.push(gap);
    } else if (slot.old !== undefined) gap.removed.push(slot.old);
  }
  return gaps.filter(({ added }) => added.length > 0);
}

function isAdded(slot: Slot): slot is AddedSlot {
  return slot.old === undefined && slot.next !== undefined;
}

/** The text of a new entry with its comma, and the comment that follows it on its line, with the blanks before it. */
interface NewText {
  entry: string;
  comment: string;
}

/**
 * A moved entry keeps its own text, such as its quotes, and the comment behind it. Comments on lines above it stay where they
 * are, since they can be about several entries.
 */
function textOf(
  text: string,
  { next, movedFrom }: AddedSlot,
  comments: RemovedComments,
  style: TextStyle,
): NewText {
  if (movedFrom === undefined) return { entry: flowEntry(next, style), comment: '' };
  return { entry: text.slice(movedFrom.start, movedFrom.end), comment: comments.get(movedFrom) ?? '' };
}

/**
 * Adds entries behind a kept one, on lines of their own if that has one or if a comment of theirs needs one. `removed` are
 * the entries that are removed behind the kept one.
 */
function addBehind(
  patch: Patch,
  previous: Entry,
  removed: readonly Entry[],
  texts: readonly NewText[],
): void {
  const { text } = patch;
  const tail = endWithComma(previous);
  const lineEnd = endOfNeighbors(text, previous, removed);
  const column = columnOf(text, previous.start);
  const needsLines = isLastOnLine(text, lineEnd) && texts.some(({ comment }) => comment !== '');
  if (needsLines || isAloneOnLines(text, previous))
    patch.insert(nextLineStart(text, lineEnd), ownLines(patch, texts, column));
  else patch.insert(tail, ` ${inline(patch, texts, column, '')}`);
}

/** The offset behind an entry and those of `removed` that follow it without a line break between them. */
function endOfNeighbors(text: string, previous: Entry, removed: readonly Entry[]): number {
  let end = endWithComma(previous);
  for (const entry of removed) {
    if (text.slice(end, entry.start).includes('\n')) break;
    end = endWithComma(entry);
  }
  return end;
}

/** Adds entries before all kept ones: above the comments of `next`, the first kept one, if it begins a line. */
function addBefore(patch: Patch, part: CollectionPart, next: Entry, texts: readonly NewText[]): void {
  const { text } = patch;
  const column = columnOf(text, next.start);
  if (isFirstOnLine(text, next.start)) {
    const before = part.entries[part.entries.indexOf(next) - 1];
    const spot = nextLineStart(text, before === undefined ? part.start : endWithComma(before));
    patch.insert(spot, ownLines(patch, texts, column));
  } else patch.insert(next.start, inline(patch, texts, column, ' '));
}

/** Entries on lines of their own. */
function ownLines({ eol }: Patch, texts: readonly NewText[], column: number): string {
  return joinLines(
    texts.map(({ entry, comment }) => entry + comment),
    column,
    eol,
  );
}

/**
 * Entries on the line of their neighbor. A comment ends the line: what follows it continues at `column` of the next line. `end`
 * separates the last entry from what follows if it has no comment.
 */
function inline({ eol }: Patch, texts: readonly NewText[], column: number, end: '' | ' '): string {
  const parts = texts.map(({ entry, comment }, index) => {
    if (comment !== '') return entry + comment + eol + ' '.repeat(column);
    return entry + (index === texts.length - 1 ? end : ' ');
  });
  return parts.join('');
}
