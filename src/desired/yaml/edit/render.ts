import { type Fields, isEmpty } from '../../values.ts';
import { type Pen, PLAIN_PEN } from './pen.ts';
import { canBePlain, inStyle, literal, quoted } from './strings.ts';

/** A pair that is to be written, or an item of a list (then without key). */
export interface NewEntry {
  key: string | undefined;
  value: unknown;
}

/** Longest key that may do without `?` before it: YAML looks for the `:` of a key only so far. */
const MAX_KEY = 1000;

/** The text of a new file: block style, indented by two spaces, keys in the order of `target`. */
export function renderYaml(target: Fields): string {
  if (isEmpty(target)) return '{}\n';
  return blockLines(target, PLAIN_PEN).join('\n').concat('\n');
}

/** Whether a value is a map or list with something in it. Empty ones are always written as `{}` or `[]`. */
export function hasEntries(value: unknown): value is object {
  return typeof value === 'object' && value !== null && !isEmpty(value);
}

/** A map's pairs or a list's items. */
function newEntriesOf(value: object): NewEntry[] {
  if (Array.isArray(value)) return value.map((item) => ({ key: undefined, value: item }));
  return Object.entries(value).map(([key, item]) => ({ key, value: item }));
}

/** A value on one line, in flow style. */
export function flowText(value: unknown, pen: Pen, inFlow = true): string {
  if (typeof value === 'string') return stringText(value, pen.quoteAll, pen, inFlow);
  if (typeof value !== 'object' || value === null) return String(value);
  const items = newEntriesOf(value).map((entry) => flowEntry(entry, pen));
  const pad = items.length === 0 ? '' : Array.isArray(value) ? pen.bracketPad : pen.bracePad;
  const inside = pad + items.join(', ') + pad;
  return Array.isArray(value) ? `[${inside}]` : `{${inside}}`;
}

/** An entry of a flow collection. */
export function flowEntry({ key, value }: NewEntry, pen: Pen): string {
  const text = flowText(value, pen);
  return key === undefined ? text : `${keyText(key, pen, true)}: ${text}`;
}

/** The lines of a map or list with entries, in block style and without indentation. */
export function blockLines(value: object, pen: Pen): string[] {
  return newEntriesOf(value).flatMap((entry) => entryLines(entry, pen));
}

/** The lines of one entry of a block. With `inFlow`, a collection in it is written in flow style. */
export function entryLines({ key, value }: NewEntry, pen: Pen, inFlow = false): string[] {
  if (key === undefined) return itemLines(value, pen, inFlow);
  const text = keyText(key, pen, false);
  if (text.length <= MAX_KEY) return pairLines(`${text}:`, value, pen, inFlow);
  return [`? ${text}`, ...pairLines(':', value, pen, inFlow)];
}

function keyText(key: string, pen: Pen, inFlow: boolean): string {
  return stringText(key, pen.quoteKeys, pen, inFlow);
}

function stringText(value: string, quoteAll: boolean, pen: Pen, inFlow: boolean): string {
  if (quoteAll) return inStyle(value, pen.quote === "'" ? 'single' : 'double', pen.quote, inFlow);
  return canBePlain(value, inFlow) ? value : quoted(value, pen.quote);
}

function pairLines(head: string, value: unknown, pen: Pen, inFlow: boolean): string[] {
  const step = Array.isArray(value) ? pen.listStep : pen.mapStep;
  if (hasEntries(value) && !inFlow) return [head, ...indent(blockLines(value, pen), step)];
  return scalarLines(`${head} `, value, pen, pen.mapStep);
}

function itemLines(value: unknown, pen: Pen, inFlow: boolean): string[] {
  const dash = `-${pen.dashPad}`;
  if (!hasEntries(value) || inFlow) return scalarLines(dash, value, pen, dash.length);
  const [first = '', ...rest] = blockLines(value, pen);
  return [dash + first, ...indent(rest, dash.length)];
}

function scalarLines(head: string, value: unknown, pen: Pen, width: number): string[] {
  const block = typeof value === 'string' && pen.blocks ? literal(value, width) : undefined;
  if (block === undefined) return [head + flowText(value, pen, false)];
  return [head + block.header, ...indent(block.lines, width)];
}

/** Indents lines; empty ones stay empty. */
function indent(lines: readonly string[], columns: number): string[] {
  const pad = ' '.repeat(columns);
  return lines.map((line) => (line === '' ? '' : pad + line));
}
