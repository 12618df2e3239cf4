import type { CollectionPart, Entry, Part } from './layout.ts';
import { columnOf } from './lines.ts';
import { canBePlain, type Quote, type ScalarStyle } from './strings.ts';

/** How new text is written, to match the text around it. */
export interface TextStyle {
  /** The quotes for strings that need quotes. */
  quote: Quote;
  /** Whether even strings that need no quotes are written in quotes. */
  quoteAll: boolean;
  /** The same for keys. */
  quoteKeys: boolean;
  /** Number of columns from a key to the entries of its map, and to the dashes of its list. */
  mapStep: number;
  listStep: number;
  /** The blanks inside the braces of a flow map, inside the brackets of a flow list, and behind a dash. */
  bracePad: string;
  bracketPad: string;
  dashPad: string;
  /** Whether strings of several lines are written as block scalars. */
  blocks: boolean;
}

/** The style of a new file. */
export const DEFAULT_STYLE: TextStyle = {
  quote: '"',
  quoteAll: false,
  quoteKeys: false,
  mapStep: 2,
  listStep: 2,
  bracePad: '',
  bracketPad: '',
  dashPad: ' ',
  blocks: true,
};

/** The style of a whole file, by its first or most frequent examples. */
export function fileStyle(text: string, top: CollectionPart): TextStyle {
  const seen: Survey = { strings: [], keys: [], style: { ...DEFAULT_STYLE }, found: new Set() };
  collect(text, top, seen);
  // A file that quotes its keys, like JSON, quotes its strings as well, even if it has none yet.
  const quoteAll = quotesAll(seen.keys) ?? false;
  return { ...seen.style, ...quoting(seen.strings, seen.keys, { ...DEFAULT_STYLE, quoteAll }) };
}

/** The style of one collection; where it has no example, that of `style`. */
export function collectionStyle(text: string, part: CollectionPart, style: TextStyle): TextStyle {
  const own = { ...style, dashPad: dashPadOf(text, part) ?? style.dashPad };
  return { ...own, ...quoting(part.entries.flatMap(stringOf), part.entries.flatMap(keyOf), style) };
}

/** A string in the text, and how it is quoted there. */
interface StringSample {
  value: string;
  style: ScalarStyle;
}

/** What is found so far on the way through a file. */
interface Survey {
  strings: StringSample[];
  keys: StringSample[];
  style: TextStyle;
  /** The fields of `style` that are found: the first example of each counts. */
  found: Set<keyof TextStyle>;
}

function collect(text: string, part: CollectionPart, seen: Survey): void {
  setFirst(seen, part.kind === 'map' ? 'bracePad' : 'bracketPad', padOf(text, part));
  for (const entry of part.entries) {
    const { value } = entry;
    seen.strings.push(...stringOf(entry));
    seen.keys.push(...keyOf(entry));
    if (value.kind === 'scalar') continue;
    setFirst(seen, value.kind === 'map' ? 'mapStep' : 'listStep', stepOf(text, part, value));
    collect(text, value, seen);
  }
}

function setFirst<K extends keyof TextStyle>(seen: Survey, field: K, value: TextStyle[K] | undefined): void {
  if (value === undefined || seen.found.has(field)) return;
  seen.found.add(field);
  seen.style[field] = value;
}

/** The blanks behind the opening bracket of a flow collection; undefined if it is empty, or anything else is there. */
export function padOf(text: string, { form, start, entries }: CollectionPart): string | undefined {
  const first = entries[0];
  if (form !== 'flow' || first === undefined) return undefined;
  const pad = text.slice(start + 1, first.start);
  return /^ *$/.test(pad) ? pad : undefined;
}

/** How far a block is indented from its key; undefined if `part` is not a block below a key. */
function stepOf(text: string, parent: CollectionPart, part: CollectionPart): number | undefined {
  if (parent.kind !== 'map' || parent.form !== 'block' || part.form !== 'block') return undefined;
  const step = columnOf(text, part.start) - parent.column;
  return part.kind === 'map' && step < 1 ? undefined : step;
}

/** The blanks behind the dashes of a list. */
function dashPadOf(text: string, part: CollectionPart): string | undefined {
  const first = part.entries[0];
  if (part.kind !== 'list' || part.form !== 'block' || first?.indicatorEnd === undefined) return undefined;
  const pad = text.slice(first.indicatorEnd, first.value.propsStart);
  return /^ +$/.test(pad) ? pad : undefined;
}

function stringOf({ value }: Entry): StringSample[] {
  return stringSample(value);
}

function keyOf({ key }: Entry): StringSample[] {
  return key === undefined ? [] : stringSample(key);
}

function stringSample(part: Part): StringSample[] {
  if (part.kind !== 'scalar' || part.style === 'block' || typeof part.value !== 'string') return [];
  return [{ value: part.value, style: part.style }];
}

function quoting(
  strings: StringSample[],
  keys: StringSample[],
  fallback: TextStyle,
): Pick<TextStyle, 'quote' | 'quoteAll' | 'quoteKeys'> {
  return {
    quote: commonQuote([...strings, ...keys]) ?? fallback.quote,
    quoteAll: quotesAll(strings) ?? fallback.quoteAll,
    quoteKeys: quotesAll(keys) ?? fallback.quoteKeys,
  };
}

function commonQuote(seen: StringSample[]): Quote | undefined {
  const single = seen.filter(({ style }) => style === 'single').length;
  const double = seen.filter(({ style }) => style === 'double').length;
  if (single === double) return single === 0 ? undefined : '"';
  return single > double ? "'" : '"';
}

/** Whether strings that need no quotes are in quotes; undefined if all strings need them. */
function quotesAll(seen: StringSample[]): boolean | undefined {
  if (seen.some(({ style }) => style === 'plain')) return false;
  return seen.some(({ value }) => canBePlain(value, false)) ? true : undefined;
}
