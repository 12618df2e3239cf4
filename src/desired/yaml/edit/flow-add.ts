import type { Slot } from './diff.ts';
import { closingSpot, lastComma, lastOf, ownsLines, tailOf } from './flow.ts';
import type { CollectionPart, Entry } from './layout.ts';
import { columnOf, endsLine, lineEnd, lineStart, startsLine, trimBlanks } from './lines.ts';
import type { Patch } from './patch.ts';
import type { Pen } from './pen.ts';
import { flowEntry, type NewEntry } from './render.ts';

/** Adds entries to a flow collection as `slots` say, each on a line of its own if its neighbour has one. */
export function addToFlow(patch: Patch, part: CollectionPart, slots: readonly Slot[], pen: Pen): void {
  const last = lastOf(slots);
  const lastKept = slots.findLast(stays)?.old;
  const closing = closingSpot(patch.text, slots);
  const comma = lastComma(patch.text, part);
  const around: Neighbours = { previous: undefined, next: slots.find(stays)?.old, closing: undefined };
  for (const slot of slots) {
    if (stays(slot)) around.previous = slot.old;
    if (slot.old !== undefined || slot.next === undefined) continue;
    around.closing = around.previous === lastKept ? closing : undefined;
    const { entry, comment } = entryOf(patch.text, slot.next, slot.moved, pen);
    addBeside(patch, part, around, { entry: entry + (slot === last ? comma : ', '), comment });
  }
}

/** What is around a new entry. */
interface Neighbours {
  previous: Entry | undefined;
  next: Entry | undefined;
  /** The place of removed entries on the line of the closing bracket, if there is one (`closingSpot`). */
  closing: number | undefined;
}

/** The text of a new entry, and the comment that goes with it where it gets a line of its own. */
interface NewText {
  entry: string;
  comment: string;
}

/** An entry that moves takes its quotes along and, if it has a line for itself, the comment at the end of that. */
function entryOf(text: string, next: NewEntry, moved: Entry | undefined, pen: Pen): NewText {
  const own = moved === undefined ? '' : text.slice(moved.start, moved.end);
  if (moved === undefined || own.includes('\n')) return { entry: flowEntry(next, pen), comment: '' };
  const comment = trimBlanks(text.slice(tailOf(moved), lineEnd(text, moved.end)));
  return { entry: own, comment: ownsLines(text, moved) ? comment : '' };
}

function addBeside(
  patch: Patch,
  part: CollectionPart,
  around: Neighbours,
  { entry, comment }: NewText,
): void {
  const { previous, next, closing } = around;
  const own = { entry: trimBlanks(entry), comment };
  if (closing !== undefined) patch.insert(closing, comment === '' ? entry : lineBefore(patch, closing, own));
  else if (previous !== undefined) addBehind(patch, previous, own);
  else if (next !== undefined) addBefore(patch, part, next, own);
}

/** An entry with its comment, in front of what stands at `offset`, which goes on at the same column of the next line. */
function lineBefore({ text, eol }: Patch, offset: number, { entry, comment }: NewText): string {
  return entry + comment + eol + ' '.repeat(columnOf(text, offset));
}

function stays({ old, next }: Slot): boolean {
  return old !== undefined && next !== undefined;
}

function addBehind(patch: Patch, previous: Entry, { entry, comment }: NewText): void {
  const { text, eol } = patch;
  const tail = tailOf(previous);
  if (ownsLines(text, previous)) {
    patch.insert(lineEnd(text, tail), ' '.repeat(columnOf(text, previous.start)) + entry + comment + eol);
  } else if (comment === '' || endsLine(text, tail)) patch.insert(tail, ` ${entry}`);
  else patch.insert(tail, ` ${lineBefore(patch, previous.start, { entry, comment })}`);
}

/** Adds an entry before all others, above the comments of the present first one. */
function addBefore(patch: Patch, part: CollectionPart, next: Entry, { entry, comment }: NewText): void {
  const { text, eol } = patch;
  if (startsLine(text, next.start)) {
    const at = next === part.entries[0] ? lineEnd(text, part.start) : lineStart(text, next.start);
    patch.insert(at, ' '.repeat(columnOf(text, next.start)) + entry + comment + eol);
  } else patch.insert(next.start, `${entry} `);
}
