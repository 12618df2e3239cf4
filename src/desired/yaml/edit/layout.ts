import {
  type CST,
  isMap,
  isScalar,
  isSeq,
  type Node,
  type Pair,
  type Scalar,
  type YAMLMap,
  type YAMLSeq,
} from 'yaml';
import { isMapValue } from '../../../protocol/values.ts';
import { columnOf } from './lines.ts';
import type { ScalarStyle } from './strings.ts';

/** Where a value stands: from `start` up to, but not including, `end`. */
interface Span {
  /** Where the value with its properties (tag and anchor) begins; `start` if it has none. */
  propsStart: number;
  start: number;
  end: number;
}

/** A scalar as it stands in the text. */
export interface ScalarPart extends Span {
  kind: 'scalar';
  style: ScalarStyle;
  value: unknown;
  /** Where the line below a block scalar's header begins; `end` for all other scalars. */
  bodyStart: number;
}

/** A map or list as it stands in the text. */
export interface CollectionPart extends Span {
  kind: 'map' | 'list';
  /** `bare` is a map without braces in a flow list, which has exactly one pair: `["8080": "80"]`. */
  form: 'block' | 'flow' | 'bare';
  value: unknown;
  /** The column of the entries; 0 in flow style, where they have none in common. */
  column: number;
  entries: Entry[];
}

export type Part = ScalarPart | CollectionPart;

/** Whether a part is a map and the value is one, or both are lists. */
export function isSameKind(part: Part, value: unknown): part is CollectionPart {
  return part.kind === 'map' ? isMapValue(value) : part.kind === 'list' && Array.isArray(value);
}

/** A pair of a map or an item of a list: from `start` up to, but not including, `end`, without its comma and comments. */
export interface Entry {
  start: number;
  end: number;
  /** The key of a pair; undefined for an item. */
  key: ScalarPart | undefined;
  value: Part;
  /** The offset behind the `:` or `-`; `start` for an item of a flow list. Undefined for a key without `:`. */
  indicatorEnd: number | undefined;
  /** The offset behind the properties of the value; `indicatorEnd` if there are none, the end of the key if there is no `:`. */
  propsEnd: number;
  /** Offset of the comma behind the entry, in a flow collection. */
  comma: number | undefined;
}

/** Finds where each part of a parsed value stands. `text` is the text that it was parsed from. */
export function layOut(text: string, node: Node): Part {
  return partOf(text, node, node.range?.[0] ?? 0);
}

function partOf(text: string, node: Node, propsStart: number): Part {
  if (isMap(node)) return mapPart(text, node as YAMLMap<Node, Node | null>, propsStart);
  if (isSeq(node)) return listPart(text, node as YAMLSeq<Node>, propsStart);
  return scalarPart(node as Scalar, propsStart);
}

const STYLES: Partial<Record<string, ScalarStyle>> = {
  'block-scalar': 'block',
  'single-quoted-scalar': 'single',
  'double-quoted-scalar': 'double',
  scalar: 'plain',
};

function scalarPart(node: Scalar, propsStart: number): ScalarPart {
  const token = node.srcToken as CST.FlowScalar | CST.BlockScalar | undefined;
  const { value } = node;
  if (token === undefined) return emptyPart(value, propsStart, propsStart);
  const start = token.offset;
  if (token.type === 'block-scalar')
    return { ...blockSpan(token), kind: 'scalar', style: 'block', value, propsStart };
  const end = start + token.source.length;
  return {
    kind: 'scalar',
    style: STYLES[token.type] ?? 'plain',
    value,
    propsStart,
    start,
    end,
    bodyStart: end,
  };
}

/** A value that is left out, as in `key:`. */
function emptyPart(value: unknown, propsStart: number, at: number): ScalarPart {
  return { kind: 'scalar', style: 'none', value, propsStart, start: at, end: at, bodyStart: at };
}

/** Where a block scalar stands, without the line break at its end. */
function blockSpan({
  offset,
  props,
  source,
}: CST.BlockScalar): Pick<ScalarPart, 'start' | 'bodyStart' | 'end'> {
  const header = props.map((prop) => ('source' in prop ? prop.source : '')).join('');
  const bodyStart = offset + header.length;
  // A block scalar without content ends on the line of its header, before the line break.
  const lineBreak = /\r?\n$/.exec(header + source)?.[0] ?? '';
  return { start: offset, bodyStart, end: bodyStart + source.length - lineBreak.length };
}

function mapPart(text: string, node: YAMLMap<Node, Node | null>, propsStart: number): CollectionPart {
  const entries = node.items.map((pair) => pairEntry(text, pair));
  const value = Object.fromEntries(entries.map((entry) => [String(entry.key?.value), entry.value.value]));
  return collectionPart(text, { kind: 'map', node, entries, value, propsStart });
}

function listPart(text: string, node: YAMLSeq<Node>, propsStart: number): CollectionPart {
  const token = node.srcToken as CollectionToken | undefined;
  const items = (token?.items ?? []).filter(hasContent);
  const entries = items.map((item, index) => itemEntry(text, item, node.items[index] as Node));
  const value = entries.map((entry) => entry.value.value);
  return collectionPart(text, { kind: 'list', node, entries, value, propsStart });
}

type CollectionToken = CST.BlockMap | CST.BlockSequence | CST.FlowCollection;
type CollectionContent = Pick<CollectionPart, 'kind' | 'entries' | 'value' | 'propsStart'> & {
  node: YAMLMap | YAMLSeq;
};

function collectionPart(
  text: string,
  { kind, node, entries, value, propsStart }: CollectionContent,
): CollectionPart {
  const token = node.srcToken as CollectionToken | undefined;
  const first = entries[0]?.start ?? 0;
  if (token?.type === 'flow-collection') {
    const [start, end] = node.range ?? [0, 0];
    assignCommas(entries, token.items);
    return { kind, form: 'flow', value, propsStart, start, end, column: 0, entries };
  }
  const form = token === undefined ? 'bare' : 'block';
  const end = entries.at(-1)?.end ?? 0;
  return {
    kind,
    form,
    value,
    propsStart: Math.min(propsStart, first),
    start: first,
    end,
    column: columnOf(text, first),
    entries,
  };
}

/** Gives each entry its comma, which the parser lists among the tokens before the next entry. */
function assignCommas(entries: readonly Entry[], items: readonly CST.CollectionItem[]): void {
  const commas = items.flatMap((item) => item.start.filter(({ type }) => type === 'comma'));
  for (const [index, entry] of entries.entries()) entry.comma = commas[index]?.offset;
}

function pairEntry(text: string, pair: Pair<Node, Node | null>): Entry {
  const item = pair.srcToken as CST.CollectionItem;
  const key = scalarPart(pair.key as Scalar, pair.key.range?.[0] ?? 0);
  const start = item.start.find(isContent)?.offset ?? item.key?.offset ?? item.sep?.[0]?.offset ?? key.start;
  const colon = item.sep?.findIndex((token) => token.type === 'map-value-ind') ?? -1;
  const indicatorEnd = colon === -1 ? undefined : endOf(item.sep?.[colon] as CST.SourceToken);
  return entryOf(text, {
    start,
    key,
    indicatorEnd,
    node: pair.value,
    lead: (item.sep ?? []).slice(colon + 1),
  });
}

function itemEntry(text: string, item: CST.CollectionItem, node: Node): Entry {
  const dash = item.start.find((token) => token.type === 'seq-item-ind');
  const first =
    item.start.find(isContent)?.offset ?? item.key?.offset ?? item.value?.offset ?? item.sep?.[0]?.offset;
  const start = first ?? 0;
  const indicatorEnd = dash === undefined ? start : endOf(dash);
  // A tag or anchor before a bare pair belongs to its key.
  const lead = item.sep === undefined ? item.start : [];
  return entryOf(text, { start, key: undefined, indicatorEnd, node, lead });
}

interface EntryParts extends Pick<Entry, 'start' | 'key' | 'indicatorEnd'> {
  node: Node | null;
  /** The tokens before the value; its tag and anchor are among them. */
  lead: readonly CST.SourceToken[];
}

function entryOf(text: string, { start, key, indicatorEnd, node, lead }: EntryParts): Entry {
  const props = lead.filter((token) => token.type === 'anchor' || token.type === 'tag');
  const last = props.at(-1);
  const propsEnd = last === undefined ? (indicatorEnd ?? key?.end ?? start) : endOf(last);
  const propsStart = props[0]?.offset;
  const value = valuePart(text, node, propsStart, propsEnd);
  const end = value.kind === 'scalar' && value.style === 'none' ? propsEnd : value.end;
  return { start, end, key, value, indicatorEnd, propsEnd, comma: undefined };
}

function valuePart(text: string, node: Node | null, propsStart: number | undefined, propsEnd: number): Part {
  if (node !== null && !(isScalar(node) && node.srcToken === undefined)) {
    return partOf(text, node, propsStart ?? node.range?.[0] ?? 0);
  }
  return emptyPart(isScalar(node) ? node.value : null, propsStart ?? propsEnd, propsEnd);
}

/** Types of the tokens between entries. */
const TRIVIA = new Set(['space', 'newline', 'comment', 'comma']);

function isContent(token: CST.SourceToken): boolean {
  return !TRIVIA.has(token.type);
}

function hasContent(item: CST.CollectionItem): boolean {
  return item.start.some(isContent) || item.sep !== undefined || item.key != null || item.value !== undefined;
}

function endOf(token: CST.SourceToken): number {
  return token.offset + token.source.length;
}
