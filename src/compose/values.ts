import type { Position } from '../desired/yaml/document.ts';
import type { AppBuilder } from './builder.ts';
import type { Entry, MapTree, Scalar, Tree } from './tree.ts';

/** Whether a key has no value, as in the output of `docker compose config`. */
export function isNull(tree: Tree): boolean {
  return tree.type === 'scalar' && tree.value === null;
}

/** Returns the text of a scalar: of a number its digits, of null nothing. */
export function textOfScalar(value: Scalar): string {
  return value === null ? '' : String(value);
}

/** Returns a text; undefined, with an error, for a list or map. */
export function textOf(tree: Tree, key: string, builder: AppBuilder): string | undefined {
  if (tree.type === 'scalar') return textOfScalar(tree.value);
  builder.refuse(key, tree, 'must be a text');
  return undefined;
}

export function numberOf(tree: Tree, key: string, builder: AppBuilder): number | undefined {
  const text = tree.type === 'scalar' ? textOfScalar(tree.value).trim() : '';
  if (text !== '' && Number.isFinite(Number(text))) return Number(text);
  builder.refuse(key, tree, 'must be a number');
  return undefined;
}

export function booleanOf(tree: Tree, key: string, builder: AppBuilder): boolean | undefined {
  const text = tree.type === 'scalar' ? textOfScalar(tree.value).toLowerCase() : '';
  if (/^(true|yes|on|y|1)$/.test(text)) return true;
  if (/^(false|no|off|n|0)$/.test(text)) return false;
  builder.refuse(key, tree, 'must be true or false');
  return undefined;
}

/** Returns the items of a list; with `orText`, a single text counts as a list of one. */
export function itemsOf(tree: Tree, key: string, builder: AppBuilder, orText = false): readonly Tree[] {
  if (tree.type === 'list') return tree.items;
  if (orText && tree.type === 'scalar') return isNull(tree) ? [] : [tree];
  if (!isNull(tree))
    builder.refuse(key, tree, orText ? 'must be a text or a list of texts' : 'must be a list');
  return [];
}

/** Returns the texts of a list. */
export function textsOf(tree: Tree, key: string, builder: AppBuilder, orText = false): string[] {
  return itemsOf(tree, key, builder, orText).flatMap(
    (item, index) => textOf(item, `${key}[${index}]`, builder) ?? [],
  );
}

/** Returns the entries of a map; none, with an error, for anything else but null. */
export function entriesOf(tree: Tree, key: string, builder: AppBuilder): [string, Entry][] {
  if (tree.type === 'map') return [...tree.entries];
  if (!isNull(tree)) builder.refuse(key, tree, 'must be a map');
  return [];
}

/** Returns the value of a key of a map; undefined if there is none, or it is null. */
export function valueAt(map: MapTree, key: string): Tree | undefined {
  const value = map.entries.get(key)?.value;
  return value === undefined || isNull(value) ? undefined : value;
}

const OTHER_DIGITS =
  'is a number, which YAML writes in its own way (1.10 becomes 1.1, 010 becomes 8); put it in quotes';

/** A name and a text; null for a name alone. */
export interface NamedText extends Position {
  name: string;
  /** Where it stands: `environment.NAME`, or `environment[0]` of a list. */
  key: string;
  text: string | null;
}

/** Reads a map of texts, or a list such as `- NAME=text`; `separators` are the characters between name and text. */
export function namedTexts(tree: Tree, key: string, builder: AppBuilder, separators = /=/): NamedText[] {
  if (tree.type !== 'list')
    return entriesOf(tree, key, builder).flatMap(([name, { value, line, column }]) => {
      const text = textOf(value, `${key}.${name}`, builder);
      if (value.type === 'scalar' && value.source !== undefined)
        builder.check(`${key}.${name}`, { line, column }, OTHER_DIGITS);
      return text === undefined
        ? []
        : { name, key: `${key}.${name}`, text: isNull(value) ? null : text, line, column };
    });
  return tree.items.flatMap((item, index) => {
    const place = { key: `${key}[${index}]`, line: item.line, column: item.column };
    const given = textOf(item, place.key, builder);
    if (given === undefined) return [];
    const at = given.search(separators);
    if (at === -1) return { name: given, text: null, ...place };
    return { name: given.slice(0, at), text: given.slice(at + 1), ...place };
  });
}

/** Notes every key of a map that is not among the known ones, and those that have no counterpart. */
export function noteOthers(
  map: MapTree,
  key: string,
  builder: AppBuilder,
  known: readonly string[],
  advice: Readonly<Record<string, string>> = {},
): void {
  for (const [name, { value, line, column }] of map.entries) {
    if (known.includes(name) || name.startsWith('x-') || name === '<<' || isNull(value)) continue;
    const place = { line, column };
    const message = Object.hasOwn(advice, name) ? advice[name] : undefined;
    builder.leaveOut(`${key}.${name}`, place, message ?? 'has no counterpart here');
  }
}
