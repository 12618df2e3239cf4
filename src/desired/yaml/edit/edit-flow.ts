import { type Fields, sameValue } from '../../../protocol/values.ts';
import { listSlots, mapSlots, type Slot } from './diff.ts';
import { type CollectionPart, isSameKind, type Part } from './layout.ts';
import { columnOf, isFirstOnLine } from './lines.ts';
import { flowEntry, flowText, type NewEntry } from './render.ts';
import { inStyle } from './strings.ts';
import { collectionStyle, padOf, type TextStyle } from './text-style.ts';

/** A text that is edited, and the line break for new lines. */
interface Source {
  text: string;
  eol: string;
}

/**
 * Returns the text for the new value of a map or list in flow style: entries whose value stays keep their text, and each is
 * on a line of its own if one of the old entries began a line. The comments between entries are left out.
 */
export function flowAnew(source: Source, part: CollectionPart, value: object, style: TextStyle): string {
  const own = collectionStyle(source.text, part, style);
  const slots = Array.isArray(value) ? listSlots(part, value) : mapSlots(part, value as Fields);
  const entries = slots.flatMap((slot) =>
    slot.next === undefined ? [] : [entryText(source, slot, slot.next, own)],
  );
  if (part.form === 'bare' && entries.length === 1) return entries.join('');
  const [open = '', close = ''] = part.kind === 'map' ? '{}' : '[]';
  return open + (entries.length === 0 ? '' : joined(source, part, entries, own)) + close;
}

function entryText(source: Source, { old, movedFrom }: Slot, next: NewEntry, style: TextStyle): string {
  const entry = old ?? movedFrom;
  if (entry === undefined) return flowEntry(next, style);
  if (sameValue(entry.value.value, next.value)) return source.text.slice(entry.start, entry.end);
  const text = changedText(source, entry.value, next.value, style);
  const { key } = entry;
  return key === undefined ? text : `${source.text.slice(key.start, key.end)}: ${text}`;
}

function changedText(source: Source, part: Part, value: unknown, style: TextStyle): string {
  if (isSameKind(part, value)) return flowAnew(source, part, value as object, style);
  const areStrings = typeof value === 'string' && part.kind === 'scalar' && typeof part.value === 'string';
  return areStrings ? inStyle(value, part.style, style.quote, true) : flowText(value, style);
}

/** The entries with what is between them and the brackets. */
function joined(
  { text, eol }: Source,
  part: CollectionPart,
  entries: readonly string[],
  style: TextStyle,
): string {
  const [first] = part.entries;
  const comma = part.entries.at(-1)?.comma === undefined ? '' : ',';
  const leader = part.entries.find(({ start }) => isFirstOnLine(text, start));
  const pad = padOf(text, part) ?? (part.kind === 'map' ? style.bracePad : style.bracketPad);
  if (leader === undefined || part.form === 'bare') return pad + entries.join(', ') + comma + pad;
  const newLine = eol + ' '.repeat(columnOf(text, leader.start));
  const close = part.end - 1;
  const end = isFirstOnLine(text, close) ? eol + ' '.repeat(columnOf(text, close)) : '';
  return (leader === first ? newLine : pad) + entries.join(`,${newLine}`) + comma + end;
}
