/** Writes values as YAML in random styles, with comments that a test can find again after an edit. */
import { isDeepStrictEqual } from 'node:util';
import { parse } from 'yaml';
import { readYaml } from '../../../src/desired/yaml/document.ts';

export interface RandomYaml {
  text: string;
  /** The lines of each top-level field, in order; empty if the whole text is a flow map. */
  chunks: { key: string; lines: string[] }[];
  comments: RandomComment[];
}

export interface RandomComment {
  text: string;
  /** The path of the collection in which it is, or of the value beside which it is. */
  path: Path;
  /** Whether it is beside a value, on its own line in a block, or anywhere in a flow collection. */
  place: 'beside' | 'block' | 'flow';
}

type Path = readonly (string | number)[];

/** Random choices that are determined by a seed. */
export interface Dice {
  below(limit: number): number;
  chance(probability: number): boolean;
  pick<T>(choices: readonly T[]): T;
}

export function dice(seed: number): Dice {
  let state = seed | 0;
  const next = () => {
    state = (state + 0x6d2b79f5) | 0;
    let mixed = Math.imul(state ^ (state >>> 15), 1 | state);
    mixed = (mixed + Math.imul(mixed ^ (mixed >>> 7), 61 | mixed)) ^ mixed;
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 2 ** 32;
  };
  const below = (limit: number) => Math.floor(next() * limit);
  return {
    below,
    chance: (probability) => next() < probability,
    pick: (choices) => choices[below(choices.length)]!,
  };
}

interface Writer {
  roll: Dice;
  comments: RandomComment[];
  mapStep: number;
  listStep: number;
  /** The probability of a comment or blank line at each place that allows one. */
  rate: number;
  /** Whether the last line belongs to a block scalar, to which an indented comment would belong too. */
  afterBlock: boolean;
}

export function randomYaml(value: Record<string, unknown>, seed: number): RandomYaml {
  const roll = dice(seed);
  const writer: Writer = {
    roll,
    comments: [],
    mapStep: roll.pick([2, 2, 2, 3, 4]),
    listStep: roll.pick([0, 2, 2, 4]),
    rate: roll.pick([0, 0.15, 0.4]),
    afterBlock: false,
  };
  const eol = roll.chance(0.2) ? '\r\n' : '\n';
  const { lines, chunks } = topLines(writer, value);
  const text = lines.join(eol) + (roll.chance(0.2) ? '' : eol);
  return { text: (roll.chance(0.1) ? '\ufeff' : '') + text, chunks, comments: writer.comments };
}

function topLines(
  writer: Writer,
  value: Record<string, unknown>,
): { lines: string[]; chunks: RandomYaml['chunks'] } {
  const { roll } = writer;
  const before = roll.chance(0.15) ? [roll.pick(['---', '--- # start'])] : [];
  const after = roll.chance(0.1) ? ['...'] : [];
  const chunks: RandomYaml['chunks'] = [];
  const lines = [...before];
  if (Object.keys(value).length === 0 || roll.chance(0.08)) {
    lines.push(...fillers(writer, [], 0), ...flowLines(writer, value, []));
  } else {
    for (const [key, item] of Object.entries(value)) {
      lines.push(...fillers(writer, [], 0));
      const own = pairLines(writer, key, item, [key]);
      chunks.push({ key, lines: own });
      lines.push(...own);
    }
  }
  lines.push(...fillers(writer, [], 0), ...after);
  return { lines, chunks };
}

/** Random comments and blank lines between entries. */
function fillers(writer: Writer, path: Path, column: number, place: 'block' | 'flow' = 'block'): string[] {
  const lines: string[] = [];
  while (writer.roll.chance(writer.rate)) {
    const strays = writer.roll.chance(0.15) && !writer.afterBlock;
    const lead = strays && writer.roll.chance(0.3) ? '\t' : '';
    if (writer.roll.chance(0.3)) lines.push('');
    else lines.push(' '.repeat(strays ? writer.roll.below(9) : column) + lead + comment(writer, path, place));
  }
  return lines;
}

function comment(writer: Writer, path: Path, place: RandomComment['place']): string {
  const text = `# c${writer.comments.length}${writer.roll.pick(['', ', [x]', ' "y', ' a: b', " 'z"])}.`;
  writer.comments.push({ text, path, place });
  return text;
}

function beside(writer: Writer, path: Path, place: 'beside' | 'flow' = 'beside'): string {
  if (!writer.roll.chance(writer.rate)) return '';
  return `${writer.roll.chance(0.1) ? '\t' : ' '}${comment(writer, path, place)}`;
}

function indent(lines: string[], columns: number): string[] {
  return lines.map((line) => (line === '' ? '' : ' '.repeat(columns) + line));
}

function pairLines(writer: Writer, key: string, value: unknown, path: Path): string[] {
  const text = stringText(writer, key, false);
  if (text.length > 900 || writer.roll.chance(0.02))
    return [`? ${text}`, ...valueLines(writer, ':', value, path)];
  return valueLines(writer, `${text}${writer.roll.chance(0.04) ? ' ' : ''}:`, value, path);
}

function valueLines(writer: Writer, head: string, value: unknown, path: Path): string[] {
  const { roll } = writer;
  const inMap = head !== '-';
  const lead = head + (roll.chance(0.03) ? ` &a${roll.below(1000)}` : '');
  if (typeof value !== 'object' || value === null) return scalarLines(writer, lead, value, path);
  if (Object.keys(value).length === 0 || roll.chance(0.3)) {
    const lines = flowLines(writer, value, path);
    writer.afterBlock = false;
    lines[0] = `${lead} ${lines[0]}`;
    lines.push(lines.pop() + beside(writer, path));
    return lines;
  }
  const top = lead + beside(writer, path);
  const isCompact = !inMap && top === '-' && roll.chance(0.8);
  const block = blockLines(writer, value, path, isCompact);
  if (isCompact) return [`- ${block[0]}`, ...indent(block.slice(1), 2)];
  return [top, ...indent(block, Array.isArray(value) && inMap ? writer.listStep : writer.mapStep)];
}

function blockLines(writer: Writer, value: object, path: Path, isCompact: boolean): string[] {
  const lines: string[] = [];
  const add = (inner: string | number, own: () => string[]) => {
    if (lines.length > 0 || !isCompact) lines.push(...fillers(writer, path, 0));
    lines.push(...own());
    return inner;
  };
  writer.afterBlock = false;
  if (Array.isArray(value)) {
    for (const [index, item] of value.entries())
      add(index, () => valueLines(writer, '-', item, [...path, index]));
  } else {
    for (const [key, item] of Object.entries(value))
      add(key, () => pairLines(writer, key, item, [...path, key]));
  }
  return lines;
}

function scalarLines(writer: Writer, head: string, value: unknown, path: Path): string[] {
  const { roll } = writer;
  const end = beside(writer, path);
  writer.afterBlock = false;
  if (typeof value !== 'string') return [`${head}${roll.chance(0.05) ? '  ' : ' '}${value}${end}`];
  const block = roll.chance(0.7) ? blockScalar(writer, value) : undefined;
  if (block !== undefined) {
    writer.afterBlock = true;
    return [`${head} ${block[0]}${end}`, ...indent(block.slice(1), writer.mapStep)];
  }
  if (roll.chance(0.1) && /^\w+( \w+)+$/.test(value) && isPlain(value, false)) {
    const words = value.split(' ');
    if (roll.chance(0.3)) {
      writer.afterBlock = true;
      return [`${head} >-${end}`, ...indent(words, writer.mapStep)];
    }
    return [`${head} ${words[0]}`, `    ${words.slice(1).join(' ')}${end}`];
  }
  const tag = roll.chance(0.03) ? '!!str ' : '';
  const text = tag + stringText(writer, value, false);
  return roll.chance(0.03) ? [head, `    ${text}${end}`] : [`${head} ${text}${end}`];
}

function blockScalar(writer: Writer, value: string): string[] | undefined {
  const content = value.replace(/\n+$/, '');
  const breaks = value.length - content.length;
  if (content === '' || /^\n*[ \t]|(^|\n)[ \t]*$|[^\P{C}\n\t]|[\u2028\u2029\r]/u.test(content))
    return undefined;
  const chomp = breaks === 0 ? '-' : breaks === 1 ? '' : '+';
  const blanks = Array.from({ length: Math.max(0, breaks - 1) }, () => '');
  if (!value.includes('\n')) return writer.roll.chance(0.05) ? [`>${chomp}`, content] : undefined;
  const width = writer.roll.chance(0.1) ? writer.mapStep : '';
  return [
    `|${writer.roll.chance(0.5) ? `${width}${chomp}` : `${chomp}${width}`}`,
    ...content.split('\n'),
    ...blanks,
  ];
}

function stringText({ roll }: Writer, value: string, inFlow: boolean): string {
  const styles = [JSON.stringify(value)];
  if (!/[^\P{C}]|[\u2028\u2029]/u.test(value)) styles.push(`'${value.replaceAll("'", "''")}'`);
  if (isPlain(value, inFlow)) styles.push(value, value, value, value);
  return roll.pick(styles);
}

/** Texts of a list or map with one value, by whether that value is read as the plain string that it was. */
const plainTexts = new Map<string, boolean>();

function isPlain(value: string, inFlow: boolean): boolean {
  if (!/^[\w./+][\w./+@% :-]*$/.test(value) || /: |:$| $/.test(value)) return false;
  const text = inFlow ? `[${value}]` : `a: ${value}`;
  const known = plainTexts.get(text);
  if (known !== undefined) return known;
  const result = parse(text)[inFlow ? 0 : 'a'] === value;
  plainTexts.set(text, result);
  return result;
}

function flowLines(writer: Writer, value: object, path: Path): string[] {
  const isList = Array.isArray(value);
  const entries = Object.entries(value);
  const trailing = entries.length > 0 && writer.roll.chance(0.2) ? ',' : '';
  if (writer.roll.chance(0.6)) {
    const pad = writer.roll.chance(0.3) ? ' ' : '';
    const inside = entries.map(([key, item]) => flowEntry(writer, isList ? undefined : key, item));
    const joined = `${pad}${inside.join(writer.roll.pick([', ', ',  ']))}${trailing}${pad}`;
    return [isList ? `[${joined}]` : `{${joined}}`];
  }
  const paths = entries.map(([key], index) => [...path, isList ? index : key]);
  const items = entries.map(([key, item], index) => spreadEntry(writer, key, item, paths[index]!));
  return spreadFlow(writer, items, path, { open: isList ? '[' : '{', close: isList ? ']' : '}', trailing });
}

/** An entry on one line. */
function flowEntry(writer: Writer, key: string | undefined, value: unknown): string {
  const head = key === undefined ? '' : `${stringText(writer, key, true)}: `;
  if (typeof value === 'string') return head + stringText(writer, value, true);
  if (typeof value !== 'object' || value === null) return head + String(value);
  const isList = Array.isArray(value);
  const inside = Object.entries(value).map(([name, item]) =>
    flowEntry(writer, isList ? undefined : name, item),
  );
  const isBare = key === undefined && !isList && inside.length === 1 && writer.roll.chance(0.2);
  return isBare ? `${inside[0]}` : `${head}${isList ? '[' : '{'}${inside.join(', ')}${isList ? ']' : '}'}`;
}

/** An entry that may take several lines. */
function spreadEntry(writer: Writer, key: string, value: unknown, path: Path): string[] {
  const name = typeof path.at(-1) === 'number' ? undefined : key;
  if (typeof value !== 'object' || value === null) return [flowEntry(writer, name, value)];
  const lines = flowLines(writer, value, path);
  if (name !== undefined) lines[0] = `${stringText(writer, name, true)}: ${lines[0]}`;
  return lines;
}

interface FlowMarks {
  open: string;
  close: string;
  trailing: string;
}

/** A flow collection over several lines, with one or more entries on each. */
function spreadFlow(
  writer: Writer,
  items: string[][],
  path: Path,
  { open, close, trailing }: FlowMarks,
): string[] {
  const { roll } = writer;
  const lines = [open + (roll.chance(0.7) ? beside(writer, path, 'flow') : '')];
  writer.afterBlock = false;
  const perLine = roll.pick([1, 1, 1, 2, 3]);
  let joinsNext = roll.chance(0.2) && lines[0] === open;
  for (const [index, item] of items.entries()) {
    const entry = [...item.slice(0, -1), `${item.at(-1)}${index === items.length - 1 ? trailing : ','}`];
    if (joinsNext) lines.push(`${lines.pop()} ${entry[0]}`, ...indent(entry.slice(1), 2));
    else lines.push(...fillers(writer, path, 2, 'flow'), ...indent(entry, 2));
    joinsNext = (index + 1) % perLine !== 0;
    if (!joinsNext) lines.push(lines.pop() + beside(writer, path, 'flow'));
  }
  lines.push(...fillers(writer, path, 2, 'flow'));
  const closes = roll.chance(0.3) && !lines.at(-1)?.includes('#');
  return closes
    ? [...lines.slice(0, -1), lines.at(-1) + close]
    : [...lines, `${roll.pick(['', ' ', '  '])}${close}`];
}

/**
 * Whether an edit from `before` to `after` must keep a comment: if everything that contains it remains and is of the same
 * kind. A comment on its own line in a block stays even if that becomes something else; one in a flow collection only if that
 * has the same value. Not defined for comments in a list that changes: returns false.
 */
export function mustStay({ path, place }: RandomComment, before: unknown, after: unknown): boolean {
  const [key, ...rest] = path;
  if (key === undefined && place === 'flow') return isDeepStrictEqual(before, after);
  if (key === undefined) return place === 'block' || kindOf(before) === kindOf(after);
  if (kindOf(before) !== kindOf(after)) return false;
  if (Array.isArray(before)) return isDeepStrictEqual(before, after);
  const [old, next] = [before, after] as [Record<string, unknown>, Record<string, unknown>];
  return Object.hasOwn(next, key) && mustStay({ path: rest, place, text: '' }, old[key], next[key]);
}

function kindOf(value: unknown): string {
  if (Array.isArray(value)) return 'list';
  return typeof value === 'object' && value !== null ? 'map' : 'scalar';
}

/** The value of a text; undefined if it is not valid. */
export function valueIn(text: string): unknown {
  const read = readYaml(text);
  return read.ok ? read.value.value : undefined;
}
