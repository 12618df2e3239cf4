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
import { columnOf, isFirstOnLine, isLastOnLine, joinLines, lineStart, nextLineStart } from './lines.ts';
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
  for (const { previous, added } of gapsOf(slots)) {
    const texts = added.map((slot): NewText => {
      const { entry, comment } = textOf(text, slot, comments, style);
      return { entry: entry + (slot === last ? trailing : ','), comment };
    });
    const spot = previous === lastKept ? offsetOnClosingLine(text, slots) : undefined;
    if (spot !== undefined) patch.insert(spot, inline(patch, texts, columnOf(text, spot), ''));
    else if (previous !== undefined) addBehind(patch, previous, texts);
    else if (firstKept !== undefined) addBefore(patch, part, firstKept, texts);
  }
}

/** The new entries between two kept ones, or at the beginning or end of the collection. */
interface Gap {
  /** The kept entry before the gap. */
  previous: Entry | undefined;
  added: AddedSlot[];
}

type AddedSlot = Slot & { next: NewEntry };

function gapsOf(slots: readonly Slot[]): Gap[] {
  let gap: Gap = { previous: undefined, added: [] };
  const gaps = [gap];
  for (const slot of slots) {
    if (isAdded(slot)) gap.added.push(slot);
    else if (isKept(slot)) {
      gap = { previous: slot.old, added: [] };
      gaps.push(gap);
    }
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

/** A moved entry keeps its own text, such as its quotes, and its comment. */
function textOf(
  text: string,
  { next, movedFrom }: AddedSlot,
  comments: RemovedComments,
  style: TextStyle,
): NewText {
  if (movedFrom === undefined) return { entry: flowEntry(next, style), comment: '' };
  return { entry: text.slice(movedFrom.start, movedFrom.end), comment: comments.get(movedFrom) ?? '' };
}

/** Adds entries behind a kept one, on lines of their own if that has one or if a comment of theirs needs one. */
function addBehind(patch: Patch, previous: Entry, texts: readonly NewText[]): void {
  const { text } = patch;
  const tail = endWithComma(previous);
  const column = columnOf(text, previous.start);
  const needsLines = isLastOnLine(text, tail) && texts.some(({ comment }) => comment !== '');
  if (needsLines || isAloneOnLines(text, previous))
    patch.insert(nextLineStart(text, tail), ownLines(patch, texts, column));
  else patch.insert(tail, ` ${inline(patch, texts, column, '')}`);
}

/** Adds entries before all kept ones: above the comments of `next`, the first kept one, if it begins a line. */
function addBefore(patch: Patch, part: CollectionPart, next: Entry, texts: readonly NewText[]): void {
  const { text } = patch;
  const column = columnOf(text, next.start);
  if (isFirstOnLine(text, next.start)) {
    const spot = next === part.entries[0] ? nextLineStart(text, part.start) : lineStart(text, next.start);
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
