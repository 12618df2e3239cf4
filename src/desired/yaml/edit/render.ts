import { type Fields, isEmptyCollection } from '../../../protocol/values.ts';
import { canBePlain, inStyle, literal, quoted } from './strings.ts';
import { DEFAULT_STYLE, type TextStyle } from './text-style.ts';

/** A pair to write or, without a key, an item of a list. */
export interface NewEntry {
  key: string | undefined;
  value: unknown;
}

/** Longest key that is written without `?` before it: YAML limits how far the `:` may be from the start of the key. */
const MAX_KEY = 1000;

/** Returns the text of a new file: block style, indented by two spaces, keys in the order of `target`. */
export function renderYaml(target: Fields): string {
  if (isEmptyCollection(target)) return '{}\n';
  return blockLines(target, DEFAULT_STYLE).join('\n').concat('\n');
}

/** Whether a value is a map or list that is not empty. Empty ones are always written as `{}` or `[]`. */
export function hasEntries(value: unknown): value is object {
  return typeof value === 'object' && value !== null && !isEmptyCollection(value);
}

/** The pairs of a map or the items of a list. */
function newEntriesOf(value: object): NewEntry[] {
  if (Array.isArray(value)) return value.map((item) => ({ key: undefined, value: item }));
  return Object.entries(value).map(([key, item]) => ({ key, value: item }));
}

/** A value on one line, in flow style. */
export function flowText(value: unknown, style: TextStyle, inFlow = true): string {
  if (typeof value === 'string') return stringText(value, style.quoteAll, style, inFlow);
  if (typeof value !== 'object' || value === null) return String(value);
  const items = newEntriesOf(value).map((entry) => flowEntry(entry, style));
  const pad = items.length === 0 ? '' : Array.isArray(value) ? style.bracketPad : style.bracePad;
  const inside = pad + items.join(', ') + pad;
  return Array.isArray(value) ? `[${inside}]` : `{${inside}}`;
}

/** An entry of a flow collection. */
export function flowEntry({ key, value }: NewEntry, style: TextStyle): string {
  const text = flowText(value, style);
  return key === undefined ? text : `${keyText(key, style, true)}: ${text}`;
}

/** The lines of a map or list with entries, in block style and without indentation. */
export function blockLines(value: object, style: TextStyle): string[] {
  return newEntriesOf(value).flatMap((entry) => entryLines(entry, style));
}

/** The lines of one entry of a block. With `inFlow`, a collection in it is written in flow style. */
export function entryLines({ key, value }: NewEntry, style: TextStyle, inFlow = false): string[] {
  if (key === undefined) return itemLines(value, style, inFlow);
  const text = keyText(key, style, false);
  if (text.length <= MAX_KEY) return pairLines(`${text}:`, value, style, inFlow);
  return [`? ${text}`, ...pairLines(':', value, style, inFlow)];
}

function keyText(key: string, style: TextStyle, inFlow: boolean): string {
  return stringText(key, style.quoteKeys, style, inFlow);
}

function stringText(value: string, quoteAll: boolean, style: TextStyle, inFlow: boolean): string {
  if (quoteAll) return inStyle(value, style.quote === "'" ? 'single' : 'double', style.quote, inFlow);
  return canBePlain(value, inFlow) ? value : quoted(value, style.quote);
}

function pairLines(head: string, value: unknown, style: TextStyle, inFlow: boolean): string[] {
  const step = Array.isArray(value) ? style.listStep : style.mapStep;
  if (hasEntries(value) && !inFlow) return [head, ...indent(blockLines(value, style), step)];
  return scalarLines(`${head} `, value, style, style.mapStep);
}

function itemLines(value: unknown, style: TextStyle, inFlow: boolean): string[] {
  const dash = `-${style.dashPad}`;
  if (!hasEntries(value) || inFlow) return scalarLines(dash, value, style, dash.length);
  const [first = '', ...rest] = blockLines(value, style);
  return [dash + first, ...indent(rest, dash.length)];
}

function scalarLines(head: string, value: unknown, style: TextStyle, width: number): string[] {
  const block = typeof value === 'string' && style.blocks ? literal(value, width) : undefined;
  if (block === undefined) return [head + flowText(value, style, false)];
  return [head + block.header, ...indent(block.lines, width)];
}

/** Indents lines; empty ones stay empty. */
function indent(lines: readonly string[], columns: number): string[] {
  const pad = ' '.repeat(columns);
  return lines.map((line) => (line === '' ? '' : pad + line));
}
