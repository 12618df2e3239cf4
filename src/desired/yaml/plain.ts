import type { Position, YamlDocument } from './document.ts';
import { KEY, type PlainScalar, plainKey, plainScalar, SCALAR } from './plain-scalar.ts';

type Pair = Record<string, PlainScalar>;
type Value = PlainScalar | (PlainScalar | Pair)[] | Pair;

/** Characters that only the full parser handles: controls, line breaks other than LF, byte order marks. */
const UNUSUAL = /[^\n\x20-\x7e\xa1-\u2027\u2030-\ud7ff\ue000-\ufefe]/;

const BLANK = /^ *(?:#.*)?$/;
const END = '(?: +#.*| *)$';
const ENTRY = new RegExp(`^(${KEY}):(?:( +)(${SCALAR}|\\[.*\\]|\\{.*\\}))?${END}`);
const CHILD = new RegExp(`^( +)(${KEY}): +(${SCALAR})${END}`);
const ITEM = new RegExp(`^(( *)- +)(?:(${KEY}): +)?(${SCALAR})${END}`);
const FLOW_ITEM = new RegExp(` *(${SCALAR}) *(?:,|$)`, 'y');
const FLOW_PAIR = new RegExp(` *(${KEY}): +(${SCALAR}) *(?:,|$)`, 'y');

/**
 * Reads a text of the shape that most files have: keys with one value, list or map each, on lines of their own. Takes a
 * twentieth of the time of `readYaml`, and reads the same value. Returns null for any other text, valid or not: use
 * `readYaml` for it.
 */
export function readPlain(text: string): YamlDocument | null {
  if (UNUSUAL.test(text)) return null;
  const reader = new PlainReader(text);
  const value = reader.read();
  if (value === undefined) return null;
  const { positions } = reader;
  return {
    value,
    positionOf: ([key, index]) => positions.get(`${key}`)?.[Number(index)] ?? { line: 1, column: 1 },
  };
}

/** Each method returns undefined if the text does not have the shape of `readPlain`. */
class PlainReader {
  readonly #lines: readonly string[];
  #at = 0;
  /** The positions of the items of each list. */
  readonly positions = new Map<string, Position[]>();

  constructor(text: string) {
    this.#lines = text.split('\n');
    if (this.#lines[0] === '---') this.#at = 1;
  }

  read(): Record<string, Value> | undefined {
    const value: Record<string, Value> = {};
    for (let line = this.#peek(); line !== undefined; line = this.#peek()) {
      const [, rawKey = '', space = '', raw] = ENTRY.exec(line) ?? [];
      const key = newKey(value, rawKey);
      if (key === undefined) return undefined;
      const positions: Position[] = [];
      this.#at += 1;
      const found =
        raw === undefined
          ? this.#block(positions)
          : this.#inline(raw, rawKey.length + 1 + space.length, positions);
      if (found === undefined) return undefined;
      value[key] = found;
      this.positions.set(key, positions);
    }
    return Object.keys(value).length === 0 ? undefined : value;
  }

  /** Skips blank lines and comments, and returns the next line without consuming it; undefined at the end. */
  #peek(): string | undefined {
    for (; this.#at < this.#lines.length; this.#at++) {
      const line = this.#lines[this.#at] as string;
      if (!BLANK.test(line)) return line;
    }
    return undefined;
  }

  #inline(raw: string, offset: number, positions: Position[]): Value | undefined {
    if (raw.startsWith('['))
      return flowList(raw.slice(1, -1), (at) => positions.push({ line: this.#at, column: offset + at + 2 }));
    return raw.startsWith('{') ? flowMap(raw.slice(1, -1)) : plainScalar(raw);
  }

  #block(positions: Position[]): Value | undefined {
    const line = this.#peek();
    if (line === undefined) return undefined;
    const item = ITEM.exec(line);
    return item === null ? this.#map() : this.#list(item[2] ?? '', positions);
  }

  #list(indent: string, positions: Position[]): Value | undefined {
    const list: (PlainScalar | Pair)[] = [];
    for (let line = this.#peek(); line !== undefined; line = this.#peek()) {
      const match = ITEM.exec(line);
      if (match === null || match[2] !== indent) return list;
      const [, before = '', , key, raw = ''] = match;
      const item = key === undefined ? plainScalar(raw) : pair(key, raw);
      if (item === undefined) return undefined;
      this.#at += 1;
      list.push(item);
      positions.push({ line: this.#at, column: before.length + 1 });
    }
    return list;
  }

  #map(): Pair | undefined {
    const map: Pair = {};
    let indent: string | undefined;
    for (let line = this.#peek(); line !== undefined; line = this.#peek()) {
      const match = CHILD.exec(line);
      indent ??= match?.[1];
      if (match === null || indent !== match[1]) break;
      if (!put(map, match[2] ?? '', match[3] ?? '')) return undefined;
      this.#at += 1;
    }
    return indent === undefined ? undefined : map;
  }
}

/** The scalars between the brackets of a list. Calls `onItem` with the offset of each. */
function flowList(text: string, onItem: (at: number) => void): PlainScalar[] | undefined {
  const list: PlainScalar[] = [];
  const isRead = eachMatch(FLOW_ITEM, text, (match, at) => {
    const item = plainScalar(match[1] ?? '');
    if (item === undefined) return false;
    list.push(item);
    onItem(at + match[0].search(/[^ ]/));
    return true;
  });
  return isRead ? list : undefined;
}

function flowMap(text: string): Pair | undefined {
  const map: Pair = {};
  return eachMatch(FLOW_PAIR, text, (match) => put(map, match[1] ?? '', match[2] ?? '')) ? map : undefined;
}

/** Passes each match to `take`. Returns false if `take` refuses one, or if the matches do not cover the text. */
function eachMatch(
  pattern: RegExp,
  text: string,
  take: (match: RegExpExecArray, at: number) => boolean,
): boolean {
  for (let at = 0; at < text.length; ) {
    pattern.lastIndex = at;
    const match = pattern.exec(text);
    if (match === null || !take(match, at)) return false;
    at += match[0].length;
  }
  return !text.endsWith(',');
}

function pair(key: string, raw: string): Pair | undefined {
  const map: Pair = {};
  return put(map, key, raw) ? map : undefined;
}

function put(map: Pair, rawKey: string, raw: string): boolean {
  const key = newKey(map, rawKey);
  const value = plainScalar(raw);
  if (key === undefined || value === undefined) return false;
  map[key] = value;
  return true;
}

/** The key; undefined if it is not plain, or repeated, which the full parser reports. */
function newKey(map: Readonly<Record<string, unknown>>, raw: string): string | undefined {
  const key = raw === '' ? undefined : plainKey(raw);
  return key === undefined || Object.hasOwn(map, key) ? undefined : key;
}
