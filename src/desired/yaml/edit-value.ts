import { contentColumn, keepsBlanks } from './block-scalar.ts';
import { below, removeEntry } from './edit-block.ts';
import type { CollectionPart, Entry, Part } from './layout.ts';
import { columnOf, joinLines, lineEnd, lineStart, startsLine } from './lines.ts';
import type { Pen } from './pen.ts';
import { blockLines, flowText, hasEntries } from './render.ts';
import type { Draft } from './splice.ts';
import { inStyle, type Literal, literal } from './strings.ts';

/** A value to replace as a whole: the pair or item that holds it, and the collection around that. */
export interface Target {
  parent: CollectionPart;
  holder: Entry;
}

/** Where a new value goes once the old one is gone. */
interface Room {
  start: number;
  end: number;
  /** What separates the new value from the `:` or `-` before it. */
  glue: string;
  /** Where further lines of the new value go. */
  tail: number;
  /** Whether a block may begin right here instead of on the next line. */
  startsBlock: boolean;
}

/** Replaces the value of one entry and nothing else; comments that are not within a scalar or flow value stay. */
export function replaceValue(draft: Draft, { parent, holder }: Target, value: unknown, pen: Pen): void {
  const old = holder.value;
  if (holder.after === undefined) {
    const before = parent.form === 'block' ? draft.eol + ' '.repeat(parent.column) : '';
    draft.insert(holder.end, `${before}: ${flowText(value, pen, parent.form !== 'block')}`);
    return;
  }
  const inFlow = parent.form !== 'block';
  const stack = !inFlow && hasEntries(value) && (old.kind === 'scalar' || old.form === 'block');
  const block = inFlow || !pen.blocks ? undefined : literalFor(draft.text, { parent, holder }, value);
  const room = makeRoom(draft, holder);
  if (stack) stackLines(draft, { parent, holder }, room, value, pen);
  else if (block !== undefined) {
    draft.replace(room.start, room.end, room.glue + block.header);
    draft.insert(room.tail, joinLines(block.lines, block.column, draft.eol));
  } else draft.replace(room.start, room.end, room.glue + inlineText(old, value, pen, inFlow));
}

function inlineText(old: Part, value: unknown, pen: Pen, inFlow: boolean): string {
  const isString = typeof value === 'string' && old.kind === 'scalar' && typeof old.value === 'string';
  return isString ? inStyle(value, old.style, pen.quote, inFlow) : flowText(value, pen, inFlow);
}

/** Takes the old value out, except for the characters that the new one replaces. */
function makeRoom(draft: Draft, holder: Entry): Room {
  const { value: old, after = holder.props, props, key } = holder;
  const { text } = draft;
  const inItem = key === undefined;
  if (old.kind !== 'scalar' && old.form === 'block') return clearBlock(draft, holder, old);
  if (old.kind === 'scalar' && old.style === 'none') {
    return { start: after, end: props, glue: ' ', tail: lineEnd(text, props), startsBlock: inItem };
  }
  const startsBlock = inItem || lineStart(text, old.head) > after;
  if (old.kind === 'scalar' && old.style === 'block') {
    const header = /^[|>][-+\d]*/.exec(text.slice(old.start, old.body))?.[0] ?? '';
    draft.remove(old.body, Math.max(old.body, lineEnd(text, old.end)));
    return { start: old.head, end: old.start + header.length, glue: '', tail: old.body, startsBlock };
  }
  return { start: old.head, end: old.end, glue: '', tail: lineEnd(text, old.end), startsBlock };
}

function clearBlock(draft: Draft, { after = 0, props, key }: Entry, old: CollectionPart): Room {
  const { text } = draft;
  const [first, ...rest] = old.entries as [Entry, ...Entry[]];
  for (const entry of rest) removeEntry(draft, entry);
  if (!startsLine(text, first.start)) {
    return { start: old.head, end: first.end, glue: '', tail: lineEnd(text, first.end), startsBlock: true };
  }
  removeEntry(draft, first);
  const tail = lineStart(text, first.start);
  return { start: after, end: props, glue: ' ', tail, startsBlock: key === undefined };
}

/** Writes a map or list with entries as lines of its own. */
function stackLines(draft: Draft, { parent, holder }: Target, room: Room, value: object, pen: Pen): void {
  const lines = blockLines(value, pen);
  const tail = holder.value.kind === 'scalar' ? below(draft.text, holder.end, parent.column) : room.tail;
  if (room.startsBlock) {
    const column = columnOf(draft.text, room.start) + room.glue.length;
    draft.replace(room.start, room.end, room.glue + lines[0]);
    draft.insert(tail, joinLines(lines.slice(1), column, draft.eol));
    return;
  }
  draft.remove(holder.after ?? room.start, room.end);
  draft.insert(tail, joinLines(lines, childColumn(parent, holder.value, value, pen), draft.eol));
}

/** Where the entries of a new block stand: where those of the old one did, if the new one may stand there. */
function childColumn(parent: CollectionPart, old: Part, value: object, pen: Pen): number {
  if (old.kind !== 'scalar' && old.column > parent.column) return old.column;
  return parent.column + (Array.isArray(value) ? pen.listStep : pen.mapStep);
}

/** A block scalar for a new value, where the old one was no quoted string. */
function literalFor(text: string, { parent, holder }: Target, value: unknown): PlacedLiteral | undefined {
  const { value: old } = holder;
  if (typeof value !== 'string' || old.kind !== 'scalar') return undefined;
  if (old.style === 'single' || old.style === 'double') return undefined;
  const column = old.style === 'block' ? contentColumn(text, old, parent.column) : parent.column + 2;
  const block = literal(value, column - parent.column, keepsBlanks(text, old));
  return block && { ...block, column };
}

interface PlacedLiteral extends Literal {
  column: number;
}
