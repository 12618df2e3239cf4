import { contentColumn, keepsBlankLines } from './block-scalar.ts';
import { endWithComments, removeEntry } from './edit-block.ts';
import type { CollectionPart, Entry, Part } from './layout.ts';
import { blanksBefore, columnOf, isFirstOnLine, joinLines, lineStart, nextLineStart } from './lines.ts';
import type { Patch } from './patch.ts';
import { blockLines, flowText, hasEntries } from './render.ts';
import { inStyle, type Literal, literal } from './strings.ts';
import type { TextStyle } from './text-style.ts';

/** Where a value is: in the pair or item `holder` of the block `parent`. */
export interface Place {
  parent: CollectionPart;
  holder: Entry;
}

/** Where a new value is written, once the old one is removed. */
interface Opening {
  /** The rest of the old value, which the new value replaces. */
  start: number;
  end: number;
  /** What must precede the new value: a blank after the `:` or `-`, or nothing if there is one already. */
  separator: '' | ' ';
  /** The start of the line where the second and further lines of the new value go. */
  nextLine: number;
  /** Whether a block may begin on this line, as it may behind a dash. */
  allowsBlock: boolean;
}

/** Replaces the value of one entry. Comments stay, except those inside the old value itself. */
export function replaceValue(
  patch: Patch,
  { parent, holder }: Place,
  value: unknown,
  style: TextStyle,
): void {
  const old = holder.value;
  if (holder.indicatorEnd === undefined) {
    // A key without `:`: only `? key` can be one, and its `:` begins a line.
    const colon = `${patch.eol}${' '.repeat(parent.column)}: `;
    patch.insert(holder.end, colon + flowText(value, style, false));
    return;
  }
  const isBlock = hasEntries(value) && (old.kind === 'scalar' || old.form === 'block');
  const block = !style.blocks ? undefined : literalFor(patch.text, { parent, holder }, value);
  const opening = removeOldValue(patch, holder);
  if (isBlock) writeBlock(patch, { parent, holder }, opening, value, style);
  else if (block !== undefined) {
    patch.replace(opening.start, opening.end, opening.separator + block.header);
    patch.insert(opening.nextLine, joinLines(block.lines, block.column, patch.eol));
  } else patch.replace(opening.start, opening.end, opening.separator + inlineText(old, value, style));
}

/** The new value on one line; a string keeps the quotes of the string that it replaces. */
function inlineText(old: Part, value: unknown, style: TextStyle): string {
  const isString = typeof value === 'string' && old.kind === 'scalar' && typeof old.value === 'string';
  return isString ? inStyle(value, old.style, style.quote, false) : flowText(value, style, false);
}

/** Removes the old value of an entry, except for the range in the opening that is returned. */
function removeOldValue(patch: Patch, entry: Entry): Opening {
  const { indicatorEnd = entry.propsEnd, propsEnd, key } = entry;
  const { text } = patch;
  const isItem = key === undefined;
  if (entry.value.kind !== 'scalar' && entry.value.form === 'block')
    return removeOldBlock(patch, entry, entry.value);
  const old = withoutCommentedProps(patch, entry.value);
  if (old.kind === 'scalar' && old.style === 'none') {
    const nextLine = nextLineStart(text, propsEnd);
    return { start: indicatorEnd, end: propsEnd, separator: ' ', nextLine, allowsBlock: isItem };
  }
  const start = old.propsStart;
  const allowsBlock = isItem || lineStart(text, start) > indicatorEnd;
  if (old.kind === 'scalar' && old.style === 'block') {
    const header = /^[|>][-+\d]*/.exec(text.slice(old.start, old.bodyStart))?.[0] ?? '';
    patch.remove(old.bodyStart, Math.max(old.bodyStart, nextLineStart(text, old.end)));
    return { start, end: old.start + header.length, separator: '', nextLine: old.bodyStart, allowsBlock };
  }
  return { start, end: old.end, separator: '', nextLine: nextLineStart(text, old.end), allowsBlock };
}

/**
 * If there are comments between the properties (tag and anchor) of a value and the value itself, removes the properties
 * alone, and returns the value without them; otherwise returns it as it is.
 */
function withoutCommentedProps(patch: Patch, value: Part): Part {
  const { propsStart, start } = value;
  const gap = patch.text.slice(propsStart, start);
  if (!gap.includes('#')) return value;
  for (const { 0: match, index } of gap.matchAll(/#[^\n]*|[&!]\S*[ \t]*/g)) {
    if (!match.startsWith('#')) patch.remove(propsStart + index, propsStart + index + match.length);
  }
  return { ...value, propsStart: start };
}

/** `removeOldValue` for a map or list in block style. */
function removeOldBlock(
  patch: Patch,
  { indicatorEnd = 0, propsEnd, key }: Entry,
  old: CollectionPart,
): Opening {
  const { text } = patch;
  const [first, ...rest] = old.entries as [Entry, ...Entry[]];
  for (const entry of rest) removeEntry(patch, entry);
  if (!isFirstOnLine(text, first.start)) {
    const nextLine = nextLineStart(text, first.end);
    return { start: old.propsStart, end: first.end, separator: '', nextLine, allowsBlock: true };
  }
  removeEntry(patch, first);
  const nextLine = lineStart(text, first.start);
  return { start: indicatorEnd, end: propsEnd, separator: ' ', nextLine, allowsBlock: key === undefined };
}

/** Writes a map or list in block style into the opening. */
function writeBlock(
  patch: Patch,
  { parent, holder }: Place,
  opening: Opening,
  value: object,
  style: TextStyle,
): void {
  const lines = blockLines(value, style);
  const nextLine =
    holder.value.kind === 'scalar'
      ? endWithComments(patch.text, holder.end, parent.column)
      : opening.nextLine;
  if (opening.allowsBlock) {
    const column = columnOf(patch.text, opening.start) + opening.separator.length;
    // YAML does not allow tabs before a block: they become spaces.
    const blanks = blanksBefore(patch.text, opening.start);
    const width = blanks.includes('\t') ? blanks.length : 0;
    patch.replace(opening.start - width, opening.end, ' '.repeat(width) + opening.separator + lines[0]);
    patch.insert(nextLine, joinLines(lines.slice(1), column, patch.eol));
    return;
  }
  patch.remove(holder.indicatorEnd ?? opening.start, opening.end);
  patch.insert(nextLine, joinLines(lines, childColumn(parent, holder.value, value, style), patch.eol));
}

/** The column for the entries of a new block: that of the old block if it was indented, the usual one otherwise. */
function childColumn(parent: CollectionPart, old: Part, value: object, style: TextStyle): number {
  if (old.kind !== 'scalar' && old.column > parent.column) return old.column;
  return parent.column + (Array.isArray(value) ? style.listStep : style.mapStep);
}

/** A literal block scalar with the column for its lines. */
interface PlacedLiteral extends Literal {
  column: number;
}

/** A string of several lines as a block scalar; undefined for all other values, and if the old value was in quotes. */
function literalFor(text: string, { parent, holder }: Place, value: unknown): PlacedLiteral | undefined {
  const { value: old } = holder;
  if (typeof value !== 'string' || old.kind !== 'scalar') return undefined;
  if (old.style === 'single' || old.style === 'double') return undefined;
  const column = old.style === 'block' ? contentColumn(text, old, parent.column) : parent.column + 2;
  const block = literal(value, column - parent.column, keepsBlankLines(text, old));
  return block && { ...block, column };
}
