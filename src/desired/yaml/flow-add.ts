import type { Slot } from './diff.ts';
import { closingSpot, lastComma, lastOf, ownsLines, tailOf } from './flow.ts';
import type { CollectionPart, Entry } from './layout.ts';
import { columnOf, lineEnd, lineStart, startsLine } from './lines.ts';
import type { Pen } from './pen.ts';
import { flowEntry } from './render.ts';
import type { Draft } from './splice.ts';

/** Adds the entries of a flow collection that `slots` say: on lines of their own where their neighbour has one. */
export function addToFlow(draft: Draft, part: CollectionPart, slots: readonly Slot[], pen: Pen): void {
  const last = lastOf(slots);
  const lastKept = slots.findLast(stays)?.old;
  const closing = closingSpot(draft.text, part, slots);
  const comma = lastComma(draft.text, part);
  const around: Neighbours = { previous: undefined, next: slots.find(stays)?.old, closing: undefined };
  for (const slot of slots) {
    if (stays(slot)) around.previous = slot.old;
    if (slot.old !== undefined || slot.next === undefined) continue;
    around.closing = around.previous === lastKept ? closing : undefined;
    addBeside(draft, part, around, flowEntry(slot.next, pen) + (slot === last ? comma : ', '));
  }
}

/** What a new entry comes between. */
interface Neighbours {
  previous: Entry | undefined;
  next: Entry | undefined;
  /** A place on the line of the closing bracket which is free now. */
  closing: number | undefined;
}

function addBeside(draft: Draft, part: CollectionPart, around: Neighbours, entry: string): void {
  const { previous, next, closing } = around;
  if (closing !== undefined) draft.insert(closing, entry);
  else if (previous !== undefined) addBehind(draft, previous, entry.trimEnd());
  else if (next !== undefined) addBefore(draft, part, next, entry.trimEnd());
}

function stays({ old, next }: Slot): boolean {
  return old !== undefined && next !== undefined;
}

function addBehind(draft: Draft, previous: Entry, entry: string): void {
  const { text, eol } = draft;
  const tail = tailOf(previous);
  if (ownsLines(text, previous)) {
    draft.insert(lineEnd(text, tail), ' '.repeat(columnOf(text, previous.start)) + entry + eol);
  } else draft.insert(tail, ` ${entry}`);
}

/** Adds an entry before all others, above the comments that speak of the next one. */
function addBefore(draft: Draft, part: CollectionPart, next: Entry, entry: string): void {
  const { text, eol } = draft;
  if (startsLine(text, next.start)) {
    const at = next === part.entries[0] ? lineEnd(text, part.start) : lineStart(text, next.start);
    draft.insert(at, ' '.repeat(columnOf(text, next.start)) + entry + eol);
  } else draft.insert(next.start, `${entry} `);
}
