import { contentColumn, keepsBlanks } from './block-scalar.ts';
import { below, removeEntry } from './edit-block.ts';
import type { CollectionPart, Entry, Part } from './layout.ts';
import { columnOf, joinLines, lineEnd, lineStart, startsLine } from './lines.ts';
import type { Patch } from './patch.ts';
import type { Pen } from './pen.ts';
import { blockLines, flowText, hasEntries } from './render.ts';
import { inStyle, type Literal, literal } from './strings.ts';

/** Where a value is: in the pair or item `holder` of the collection `parent`. */
export interface Place {
  parent: CollectionPart;
  holder: Entry;
}

/** The gap that is left once an old value is taken out. */
interface Room {
  /** What remains of the old value, for the new one to replace. */
  start: number;
  end: number;
  /** What must separate the new value from the `:` or `-` before it: a blank, or nothing where one is there. */
  glue: string;
  /** Where the further lines of a new value of several lines go. */
  tail: number;
  /** Whether a block may begin on this very line, as it may behind a dash. */
  startsBlock: boolean;
}

/** Replaces the value of one entry. Comments stay, except those inside the old value itself. */
export function replaceValue(patch: Patch, { parent, holder }: Place, value: unknown, pen: Pen): void {
  const old = holder.value;
  if (holder.after === undefined) {
    const before = parent.form === 'block' ? patch.eol + ' '.repeat(parent.column) : '';
    patch.insert(holder.end, `${before}: ${flowText(value, pen, parent.form !== 'block')}`);
    return;
  }
  const inFlow = parent.form !== 'block';
  const isBlock = !inFlow && hasEntries(value) && (old.kind === 'scalar' || old.form === 'block');
  const block = inFlow || !pen.blocks ? undefined : literalFor(patch.text, { parent, holder }, value);
  const room = makeRoom(patch, holder);
  if (isBlock) writeBlock(patch, { parent, holder }, room, value, pen);
  else if (block !== undefined) {
    patch.replace(room.start, room.end, room.glue + block.header);
    patch.insert(room.tail, joinLines(block.lines, block.column, patch.eol));
  } else patch.replace(room.start, room.end, room.glue + inlineText(old, value, pen, inFlow));
}

/** The new value on one line; a string keeps the quotes of the string that it replaces. */
function inlineText(old: Part, value: unknown, pen: Pen, inFlow: boolean): string {
  const isString = typeof value === 'string' && old.kind === 'scalar' && typeof old.value === 'string';
  return isString ? inStyle(value, old.style, pen.quote, inFlow) : flowText(value, pen, inFlow);
}

/** Takes the old value out, but for the characters between `start` and `end` of the room that it leaves. */
function makeRoom(patch: Patch, entry: Entry): Room {
  const { after = entry.props, props, key } = entry;
  const { text } = patch;
  const inItem = key === undefined;
  if (entry.value.kind !== 'scalar' && entry.value.form === 'block')
    return clearBlock(patch, entry, entry.value);
  const old = withoutCommentedProps(patch, entry.value);
  if (old.kind === 'scalar' && old.style === 'none') {
    return { start: after, end: props, glue: ' ', tail: lineEnd(text, props), startsBlock: inItem };
  }
  const startsBlock = inItem || lineStart(text, old.head) > after;
  if (old.kind === 'scalar' && old.style === 'block') {
    const header = /^[|>][-+\d]*/.exec(text.slice(old.start, old.body))?.[0] ?? '';
    patch.remove(old.body, Math.max(old.body, lineEnd(text, old.end)));
    return { start: old.head, end: old.start + header.length, glue: '', tail: old.body, startsBlock };
  }
  return { start: old.head, end: old.end, glue: '', tail: lineEnd(text, old.end), startsBlock };
}

/** Takes out the tag and anchor of a value by themselves if comments stand between them and the value. */
function withoutCommentedProps(patch: Patch, value: Part): Part {
  const { head, start } = value;
  const gap = patch.text.slice(head, start);
  if (!gap.includes('#')) return value;
  for (const { 0: part, index } of gap.matchAll(/#[^\n]*|[&!]\S*[ \t]*/g)) {
    if (!part.startsWith('#')) patch.remove(head + index, head + index + part.length);
  }
  return { ...value, head: start };
}

/** `makeRoom` for a map or list in block style. */
function clearBlock(patch: Patch, { after = 0, props, key }: Entry, old: CollectionPart): Room {
  const { text } = patch;
  const [first, ...rest] = old.entries as [Entry, ...Entry[]];
  for (const entry of rest) removeEntry(patch, entry);
  if (!startsLine(text, first.start)) {
    return { start: old.head, end: first.end, glue: '', tail: lineEnd(text, first.end), startsBlock: true };
  }
  removeEntry(patch, first);
  const tail = lineStart(text, first.start);
  return { start: after, end: props, glue: ' ', tail, startsBlock: key === undefined };
}

/** Writes a map or list in block style into the room. */
function writeBlock(patch: Patch, { parent, holder }: Place, room: Room, value: object, pen: Pen): void {
  const lines = blockLines(value, pen);
  const tail = holder.value.kind === 'scalar' ? below(patch.text, holder.end, parent.column) : room.tail;
  if (room.startsBlock) {
    const column = columnOf(patch.text, room.start) + room.glue.length;
    // In front of a block, YAML takes no tabs.
    const lead = /[ \t]*$/.exec(patch.text.slice(0, room.start))?.[0] ?? '';
    const blanks = lead.includes('\t') ? lead.length : 0;
    patch.replace(room.start - blanks, room.end, ' '.repeat(blanks) + room.glue + lines[0]);
    patch.insert(tail, joinLines(lines.slice(1), column, patch.eol));
    return;
  }
  patch.remove(holder.after ?? room.start, room.end);
  patch.insert(tail, joinLines(lines, childColumn(parent, holder.value, value, pen), patch.eol));
}

/** The column for the entries of a new block: that of the old block's entries, if there was an indented one. */
function childColumn(parent: CollectionPart, old: Part, value: object, pen: Pen): number {
  if (old.kind !== 'scalar' && old.column > parent.column) return old.column;
  return parent.column + (Array.isArray(value) ? pen.listStep : pen.mapStep);
}

/** A string of several lines as a block scalar; undefined for other values, and if the old one was in quotes. */
function literalFor(text: string, { parent, holder }: Place, value: unknown): PlacedLiteral | undefined {
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
