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
import { columnOf } from './lines.ts';
import type { ScalarStyle } from './strings.ts';

/** Where a value is: from `start` to before `end`. `head` is where its tag or anchor begins, else `start`. */
interface Span {
  head: number;
  start: number;
  end: number;
}

export interface ScalarPart extends Span {
  kind: 'scalar';
  style: ScalarStyle;
  value: unknown;
  /** Where the lines of a block scalar begin, below its header; `end` for all other scalars. */
  body: number;
}

export interface CollectionPart extends Span {
  kind: 'map' | 'list';
  /** `bare` is a map without braces in a flow list, which always has one pair: `["8080": "80"]`. */
  form: 'block' | 'flow' | 'bare';
  value: unknown;
  /** The column of the entries of a block. */
  column: number;
  entries: Entry[];
}

export type Part = ScalarPart | CollectionPart;

/** A pair of a map or an item of a list: from `start` to before `end`, without comma and comments. */
export interface Entry {
  start: number;
  end: number;
  /** The key of a pair; undefined for items. */
  key: ScalarPart | undefined;
  value: Part;
  /** The offset behind the `:` or `-`; for an item of a flow list, of its value. Undefined for a key without `:`. */
  after: number | undefined;
  /** The offset behind the tag or anchor of the value; `after` if there is none. */
  props: number;
  /** Offset of the comma behind it, in a flow collection. */
  comma: number | undefined;
}

/** Finds the places of all parts of a parsed value. `text` is what it was parsed from. */
export function layOut(text: string, node: Node): Part {
  return partOf(text, node, node.range?.[0] ?? 0);
}

function partOf(text: string, node: Node, head: number): Part {
  if (isMap(node)) return mapPart(text, node as YAMLMap<Node, Node | null>, head);
  if (isSeq(node)) return listPart(text, node as YAMLSeq<Node>, head);
  return scalarPart(node as Scalar, head);
}

const STYLES: Partial<Record<string, ScalarStyle>> = {
  'block-scalar': 'block',
  'single-quoted-scalar': 'single',
  'double-quoted-scalar': 'double',
  scalar: 'plain',
};

function scalarPart(node: Scalar, head: number): ScalarPart {
  const token = node.srcToken as CST.FlowScalar | CST.BlockScalar | undefined;
  const { value } = node;
  if (token === undefined) return missingPart(value, head, head);
  const start = token.offset;
  if (token.type === 'block-scalar')
    return { ...blockSpan(token), kind: 'scalar', style: 'block', value, head };
  const end = start + token.source.length;
  return { kind: 'scalar', style: STYLES[token.type] ?? 'plain', value, head, start, end, body: end };
}

function missingPart(value: unknown, head: number, at: number): ScalarPart {
  return { kind: 'scalar', style: 'none', value, head, start: at, end: at, body: at };
}

function blockSpan({ offset, props, source }: CST.BlockScalar): Pick<ScalarPart, 'start' | 'body' | 'end'> {
  const header = props.map((prop) => ('source' in prop ? prop.source : '')).join('');
  const body = offset + header.length;
  // Without lines of its own, the line break at its end is that of the header.
  const lineBreak = /\r?\n$/.exec(header + source)?.[0] ?? '';
  return { start: offset, body, end: body + source.length - lineBreak.length };
}

function mapPart(text: string, node: YAMLMap<Node, Node | null>, head: number): CollectionPart {
  const entries = node.items.map((pair) => pairEntry(text, pair));
  const value = Object.fromEntries(entries.map((entry) => [String(entry.key?.value), entry.value.value]));
  return collectionPart(text, { kind: 'map', node, entries, value, head });
}

function listPart(text: string, node: YAMLSeq<Node>, head: number): CollectionPart {
  const token = node.srcToken as CollectionToken | undefined;
  const items = (token?.items ?? []).filter(hasContent);
  const entries = items.map((item, index) => itemEntry(text, item, node.items[index] as Node));
  const value = entries.map((entry) => entry.value.value);
  return collectionPart(text, { kind: 'list', node, entries, value, head });
}

type CollectionToken = CST.BlockMap | CST.BlockSequence | CST.FlowCollection;
type Built = Pick<CollectionPart, 'kind' | 'entries' | 'value' | 'head'> & { node: YAMLMap | YAMLSeq };

function collectionPart(text: string, { kind, node, entries, value, head }: Built): CollectionPart {
  const token = node.srcToken as CollectionToken | undefined;
  const first = entries[0]?.start ?? 0;
  if (token?.type === 'flow-collection') {
    const [start, end] = node.range ?? [0, 0];
    setCommas(entries, token.items);
    return { kind, form: 'flow', value, head, start, end, column: 0, entries };
  }
  const form = token === undefined ? 'bare' : 'block';
  const end = entries.at(-1)?.end ?? 0;
  return {
    kind,
    form,
    value,
    head: Math.min(head, first),
    start: first,
    end,
    column: columnOf(text, first),
    entries,
  };
}

/** An entry's comma is among the tokens before the next entry. */
function setCommas(entries: readonly Entry[], items: readonly CST.CollectionItem[]): void {
  const commas = items.flatMap((item) => item.start.filter(({ type }) => type === 'comma'));
  for (const [index, entry] of entries.entries()) entry.comma = commas[index]?.offset;
}

function pairEntry(text: string, pair: Pair<Node, Node | null>): Entry {
  const item = pair.srcToken as CST.CollectionItem;
  const key = scalarPart(pair.key as Scalar, pair.key.range?.[0] ?? 0);
  const start = item.start.find(isSolid)?.offset ?? item.key?.offset ?? item.sep?.[0]?.offset ?? key.start;
  const colon = item.sep?.findIndex((token) => token.type === 'map-value-ind') ?? -1;
  const after = colon === -1 ? undefined : endOf(item.sep?.[colon] as CST.SourceToken);
  return entryOf(text, { start, key, after, node: pair.value, lead: (item.sep ?? []).slice(colon + 1) });
}

function itemEntry(text: string, item: CST.CollectionItem, node: Node): Entry {
  const dash = item.start.find((token) => token.type === 'seq-item-ind');
  const first =
    item.start.find(isSolid)?.offset ?? item.key?.offset ?? item.value?.offset ?? item.sep?.[0]?.offset;
  const start = first ?? 0;
  const after = dash === undefined ? start : endOf(dash);
  // The tag of a bare pair is that of its key.
  const lead = item.sep === undefined ? item.start : [];
  return entryOf(text, { start, key: undefined, after, node, lead });
}

interface Found extends Pick<Entry, 'start' | 'key' | 'after'> {
  node: Node | null;
  /** The tokens before the value, in which its tag and anchor stand. */
  lead: readonly CST.SourceToken[];
}

function entryOf(text: string, { start, key, after, node, lead }: Found): Entry {
  const props = lead.filter((token) => token.type === 'anchor' || token.type === 'tag');
  const last = props.at(-1);
  const propsEnd = last === undefined ? (after ?? key?.end ?? start) : endOf(last);
  const head = props[0]?.offset;
  const value = valuePart(text, node, head, propsEnd);
  const end = value.kind === 'scalar' && value.style === 'none' ? propsEnd : value.end;
  return { start, end, key, value, after, props: propsEnd, comma: undefined };
}

function valuePart(text: string, node: Node | null, head: number | undefined, propsEnd: number): Part {
  if (node !== null && !(isScalar(node) && node.srcToken === undefined)) {
    return partOf(text, node, head ?? node.range?.[0] ?? 0);
  }
  return missingPart(isScalar(node) ? node.value : null, head ?? propsEnd, propsEnd);
}

/** Tokens that are part of no entry. */
const QUIET = new Set(['space', 'newline', 'comment', 'comma']);

function isSolid(token: CST.SourceToken): boolean {
  return !QUIET.has(token.type);
}

function hasContent(item: CST.CollectionItem): boolean {
  return item.start.some(isSolid) || item.sep !== undefined || item.key != null || item.value !== undefined;
}

function endOf(token: CST.SourceToken): number {
  return token.offset + token.source.length;
}
