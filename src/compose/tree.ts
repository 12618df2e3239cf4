import { isAlias, isMap, isScalar, isSeq, type ParsedNode, type YAMLMap } from 'yaml';
import { type Position, syntaxProblems } from '../desired/yaml/document.ts';
import { parseYaml, type YamlTree } from '../desired/yaml/parse.ts';
import type { Notes } from './notes.ts';

export type Scalar = string | number | boolean | null;

/** A value of a Compose file, with its place, after aliases, merge keys and variables. `size` counts the values in it. */
export type Tree = ScalarTree | ListTree | MapTree;
interface ScalarTree extends Position {
  type: 'scalar';
  value: Scalar;
  /** What a number is written as, if that is not how its value is written: `1.10`, `0x1F`. */
  source?: string;
  size: number;
}
interface ListTree extends Position {
  type: 'list';
  items: readonly Tree[];
  size: number;
}
export interface MapTree extends Position {
  type: 'map';
  entries: ReadonlyMap<string, Entry>;
  size: number;
}
/** A value of a map, and the place of its key. */
export interface Entry extends Position {
  value: Tree;
}

/** Most values that a file may have once its aliases are written out: a small file could stand for billions. */
const MAX_VALUES = 100_000;

/** Replaces the variables in a text. */
export type Interpolate = (text: string, place: Position) => string;

/**
 * Reads a Compose file as YAML with aliases and merge keys. Returns null, and adds errors to the notes, if it is not YAML, an
 * alias contains itself, or the aliases stand for too many values.
 */
export function readTree(text: string, interpolate: Interpolate, notes: Notes): Tree | null {
  const body = text.replace(/^\ufeff/, '');
  const yaml = parseYaml(body);
  const problems = syntaxProblems(body, yaml);
  for (const { message, ...place } of problems) notes.add('error', 'YAML', place, message);
  if (problems.length > 0 || yaml.document.contents === null) return null;
  const builder = new TreeBuilder(yaml, interpolate, notes);
  const tree = builder.build(yaml.document.contents);
  if (tree.size > MAX_VALUES || builder.isTooLarge)
    notes.add(
      'error',
      'YAML',
      tree,
      `has more than ${MAX_VALUES} values once its aliases are written out; use fewer aliases`,
    );
  return notes.list.some(({ key, code }) => key === 'YAML' && code === 'error') ? null : tree;
}

/**
 * Reads a number that YAML 1.2 reads otherwise, or whose digits change: Compose knows `_` between digits, and takes a leading
 * zero for octal. Returns undefined for any other text, and for a number that stays as it is written.
 */
function plainNumber(source: string): number | undefined {
  const [, sign = '', digits = ''] = /^([-+]?)([\d.][\w.+-]*)$/.exec(source.replaceAll('_', '')) ?? [];
  const isDecimal = /^(\.\d+|\d+(\.\d*)?)(e[-+]?\d+)?$/i.test(digits);
  if (!isDecimal && !/^0(x[\da-f]+|o[0-7]+|b[01]+)$/i.test(digits)) return undefined;
  const size = Number(/^0[0-7]+$/.test(digits) ? `0o${digits}` : digits);
  const number = sign === '-' ? -size : size;
  // Large integers stay texts of the same digits.
  return String(number) === source || (Number.isInteger(number) && !Number.isSafeInteger(number))
    ? undefined
    : number;
}

class TreeBuilder {
  readonly #yaml: YamlTree;
  readonly #interpolate: Interpolate;
  readonly #notes: Notes;
  /** The value of each anchor; null while it is being built. */
  readonly #anchors = new Map<string, Tree | null>();
  #merged = 0;

  constructor(yaml: YamlTree, interpolate: Interpolate, notes: Notes) {
    this.#yaml = yaml;
    this.#interpolate = interpolate;
    this.#notes = notes;
  }

  get isTooLarge(): boolean {
    return this.#merged > MAX_VALUES;
  }

  /** Builds each value once: what an alias stands for is shared, so that no file needs more memory than its own length. */
  build(node: ParsedNode | null): Tree {
    const place = this.#placeOf(node);
    if (isAlias(node)) return this.#resolve(node.source, place);
    const anchor = node?.anchor;
    if (anchor !== undefined) this.#anchors.set(anchor, null);
    const tree = this.#valueOf(node, place);
    if (anchor !== undefined) this.#anchors.set(anchor, tree);
    return tree;
  }

  #valueOf(node: ParsedNode | null, place: Position): Tree {
    if (isMap(node)) return this.#mapOf(node, place);
    if (isSeq(node)) {
      const items = node.items.map((item) => this.build(item as ParsedNode));
      return { type: 'list', items, size: sizeOf(items), ...place };
    }
    const value = this.#scalarOf(node, place);
    const source = isScalar(node) && node.type === 'PLAIN' ? (node.source ?? '') : '';
    const number = plainNumber(source);
    return number === undefined
      ? { type: 'scalar', value, size: 1, ...place }
      : { type: 'scalar', value: number, source, size: 1, ...place };
  }

  #scalarOf(node: ParsedNode | null, place: Position): Scalar {
    if (!isScalar(node)) return null;
    const { value, source } = node;
    if (typeof value === 'string') return this.#interpolate(value, place);
    // A number that JavaScript cannot hold stays a text of the same digits.
    if (typeof value === 'number' && Number.isInteger(value) && !Number.isSafeInteger(value))
      return `${source}`;
    return value as Scalar;
  }

  #mapOf(node: YAMLMap, place: Position): Tree {
    const entries = new Map<string, Entry>();
    const own = new Set<string>();
    for (const { key, value } of node.items) {
      const name = String(isScalar(key) ? key.value : key);
      const at = this.#placeOf(key as ParsedNode);
      const tree = this.build(value as ParsedNode | null);
      if (own.has(name)) this.#notes.add('error', 'YAML', at, 'duplicate key; keep only one');
      own.add(name);
      if (name === '<<') this.#merge(tree, entries, at);
      else entries.set(name, { value: tree, ...at });
    }
    const size = sizeOf([...entries.values()].map(({ value }) => value));
    return { type: 'map', entries, size, ...place };
  }

  /** Adds entries of merged maps, of which the first one with a key counts; the map's own keys win. */
  #merge(tree: Tree, entries: Map<string, Entry>, place: Position): void {
    for (const source of tree.type === 'list' ? tree.items : [tree]) {
      if (source.type !== 'map') {
        this.#notes.add('error', 'YAML', place, 'a merge key (<<) takes a map, or a list of maps');
        continue;
      }
      this.#merged += source.entries.size;
      if (this.isTooLarge) return;
      for (const [key, entry] of source.entries) if (!entries.has(key)) entries.set(key, entry);
    }
  }

  #resolve(anchor: string, place: Position): Tree {
    const tree = this.#anchors.get(anchor);
    if (tree !== undefined && tree !== null) return tree;
    const reason = tree === null ? 'stands for a value that contains it' : 'has no anchor above it';
    this.#notes.add('error', 'YAML', place, `this alias ${reason}; write the value out`);
    return { type: 'scalar', value: null, size: 1, ...place };
  }

  #placeOf(node: ParsedNode | null): Position {
    const { line, col } = this.#yaml.lines.linePos(node?.range?.[0] ?? 0);
    return { line, column: col };
  }
}

function sizeOf(values: readonly Tree[]): number {
  return values.reduce((sum, { size }) => sum + size, 1);
}
