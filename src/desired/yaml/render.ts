import { isEmpty } from '../values.ts';
import { type Pen, PLAIN_PEN } from './pen.ts';
import { canBePlain, inStyle, literal, quoted } from './strings.ts';

/** A pair of a map, or an item of a list, that is to be written. */
export interface Wanted {
  key: string | undefined;
  value: unknown;
}

/** A key that is longer must be marked with `?`: YAML reads no `:` further from where the key begins. */
const MAX_KEY = 1000;

/** A new file with `target`: block style, two spaces of indentation, keys in the order of `target`. */
export function renderYaml(target: Readonly<Record<string, unknown>>): string {
  if (isEmpty(target)) return '{}\n';
  return blockLines(target, PLAIN_PEN).join('\n').concat('\n');
}

/** Whether a value has entries, which a block shows on lines of their own. */
export function hasEntries(value: unknown): value is object {
  return typeof value === 'object' && value !== null && !isEmpty(value);
}

/** A map's pairs or a list's items. */
function wantedOf(value: object): Wanted[] {
  if (Array.isArray(value)) return value.map((item) => ({ key: undefined, value: item }));
  return Object.entries(value).map(([key, item]) => ({ key, value: item }));
}

/** A value on one line, in flow style. */
export function flowText(value: unknown, pen: Pen, inFlow = true): string {
  if (typeof value === 'string') return stringText(value, pen.quoteAll, pen, inFlow);
  if (typeof value !== 'object' || value === null) return String(value);
  const items = wantedOf(value).map((wanted) => flowEntry(wanted, pen));
  const pad = items.length === 0 ? '' : Array.isArray(value) ? pen.bracketPad : pen.bracePad;
  const inside = pad + items.join(', ') + pad;
  return Array.isArray(value) ? `[${inside}]` : `{${inside}}`;
}

/** An entry of a flow collection. */
export function flowEntry({ key, value }: Wanted, pen: Pen): string {
  const text = flowText(value, pen);
  return key === undefined ? text : `${keyText(key, pen, true)}: ${text}`;
}

/** The lines of a map or list with entries, in block style and without indentation. */
export function blockLines(value: object, pen: Pen): string[] {
  return wantedOf(value).flatMap((wanted) => entryLines(wanted, pen));
}

/** The lines of one entry of a block. With `inFlow`, a collection in it is written in flow style. */
export function entryLines({ key, value }: Wanted, pen: Pen, inFlow = false): string[] {
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

/** Lines further to the right; empty ones stay empty. */
function indent(lines: readonly string[], columns: number): string[] {
  const pad = ' '.repeat(columns);
  return lines.map((line) => (line === '' ? '' : pad + line));
}
