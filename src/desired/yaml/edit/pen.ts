import type { CollectionPart, Entry, Part } from './layout.ts';
import { columnOf } from './lines.ts';
import { canBePlain, type Quote, type ScalarStyle } from './strings.ts';

/** The style in which new text is written, taken from the text around it. */
export interface Pen {
  /** The quotes of strings that need some. */
  quote: Quote;
  /** Whether strings (and keys) that need no quotes get some as well. */
  quoteAll: boolean;
  quoteKeys: boolean;
  /** Columns from a key to the entries of its map, and to the dashes of its list. */
  mapStep: number;
  listStep: number;
  /** The blanks within the braces of a flow map, within the brackets of a flow list, and behind a dash. */
  bracePad: string;
  bracketPad: string;
  dashPad: string;
  /** Whether strings of several lines become block scalars. */
  blocks: boolean;
}

/** The style of a text that has none of its own. */
export const PLAIN_PEN: Pen = {
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

/** The style of a whole file. */
export function filePen(text: string, top: CollectionPart): Pen {
  const seen: Sample = { strings: [], keys: [], pen: { ...PLAIN_PEN }, known: new Set() };
  collect(text, top, seen);
  // A file like JSON quotes its strings, also where it has no string yet.
  const quoteAll = quotesAll(seen.keys) ?? false;
  return { ...seen.pen, ...quoting(seen.strings, seen.keys, { ...PLAIN_PEN, quoteAll }) };
}

/** The style of one collection; that of `pen` in whatever the collection does not show. */
export function penOf(text: string, part: CollectionPart, pen: Pen): Pen {
  const own = { ...pen, dashPad: dashPadOf(text, part) ?? pen.dashPad };
  return { ...own, ...quoting(part.entries.flatMap(stringOf), part.entries.flatMap(keyOf), pen) };
}

/** A string in the text, and how it is quoted there. */
interface Sighting {
  value: string;
  style: ScalarStyle;
}

/** What was found so far on the way through a file. */
interface Sample {
  strings: Sighting[];
  keys: Sighting[];
  pen: Pen;
  /** The fields of `pen` that the file has settled: its first example of each counts. */
  known: Set<keyof Pen>;
}

function collect(text: string, part: CollectionPart, seen: Sample): void {
  note(seen, part.kind === 'map' ? 'bracePad' : 'bracketPad', padOf(text, part));
  for (const entry of part.entries) {
    const { value } = entry;
    seen.strings.push(...stringOf(entry));
    seen.keys.push(...keyOf(entry));
    if (value.kind === 'scalar') continue;
    note(seen, value.kind === 'map' ? 'mapStep' : 'listStep', stepOf(text, part, value));
    collect(text, value, seen);
  }
}

function note<K extends keyof Pen>(seen: Sample, field: K, value: Pen[K] | undefined): void {
  if (value === undefined || seen.known.has(field)) return;
  seen.known.add(field);
  seen.pen[field] = value;
}

/** The blanks behind the opening bracket of a flow collection. */
function padOf(text: string, { form, start, entries }: CollectionPart): string | undefined {
  const first = entries[0];
  if (form !== 'flow' || first === undefined) return undefined;
  const pad = text.slice(start + 1, first.start);
  return /^ *$/.test(pad) ? pad : undefined;
}

/** How far a block is indented from its key; undefined for what is not a block below a key. */
function stepOf(text: string, parent: CollectionPart, part: CollectionPart): number | undefined {
  if (parent.kind !== 'map' || parent.form !== 'block' || part.form !== 'block') return undefined;
  const step = columnOf(text, part.start) - parent.column;
  return part.kind === 'map' && step < 1 ? undefined : step;
}

/** The blanks behind the dashes of a list. */
function dashPadOf(text: string, part: CollectionPart): string | undefined {
  const first = part.entries[0];
  if (part.kind !== 'list' || part.form !== 'block' || first?.after === undefined) return undefined;
  const pad = text.slice(first.after, first.value.head);
  return /^ +$/.test(pad) ? pad : undefined;
}

function stringOf({ value }: Entry): Sighting[] {
  return sighting(value);
}

function keyOf({ key }: Entry): Sighting[] {
  return key === undefined ? [] : sighting(key);
}

function sighting(part: Part): Sighting[] {
  if (part.kind !== 'scalar' || part.style === 'block' || typeof part.value !== 'string') return [];
  return [{ value: part.value, style: part.style }];
}

function quoting(
  strings: Sighting[],
  keys: Sighting[],
  otherwise: Pen,
): Pick<Pen, 'quote' | 'quoteAll' | 'quoteKeys'> {
  return {
    quote: commonQuote([...strings, ...keys]) ?? otherwise.quote,
    quoteAll: quotesAll(strings) ?? otherwise.quoteAll,
    quoteKeys: quotesAll(keys) ?? otherwise.quoteKeys,
  };
}

function commonQuote(seen: Sighting[]): Quote | undefined {
  const single = seen.filter(({ style }) => style === 'single').length;
  const double = seen.filter(({ style }) => style === 'double').length;
  if (single === double) return single === 0 ? undefined : '"';
  return single > double ? "'" : '"';
}

/** Whether strings that need no quotes have some; undefined if no string could do without. */
function quotesAll(seen: Sighting[]): boolean | undefined {
  if (seen.some(({ style }) => style === 'plain')) return false;
  return seen.some(({ value }) => canBePlain(value, false)) ? true : undefined;
}
