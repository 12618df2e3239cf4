import { isMap } from 'yaml';
import { HoldfastError } from '../../../errors.ts';
import { type Fields, sameValue } from '../../../protocol/values.ts';
import { type ReadResult, type ReadYaml, readYaml, type YamlDocument, type YamlSource } from '../document.ts';
import { parseYaml, type YamlTree } from '../parse.ts';
import { editTop } from './edit-part.ts';
import { type CollectionPart, layOut } from './layout.ts';
import { isFirstOnLine, trimTrailingBlanks } from './lines.ts';
import { Patch } from './patch.ts';
import { renderYaml } from './render.ts';
import { fileStyle } from './text-style.ts';

/**
 * How much of a text an edit rewrites, from fine to coarse:
 * - `nothing`: the text already holds the target;
 * - `places`: the values that differ;
 * - `quoted-places`: the values that differ, with strings of several lines in quotes, because one of them as a block scalar
 *   would take in a comment below it;
 * - `fields`: the top-level fields that differ;
 * - `file`: everything.
 */
export type Grain = 'nothing' | 'places' | 'quoted-places' | 'fields' | 'file';

/** An edited text that holds the target when it is read back, and the finest grain that achieves this. */
export interface EditedText {
  text: string;
  grain: Grain;
}

const BOM = '\ufeff';

/** Like `editYaml`, and also returns the grain of the edit. */
export function editText(text: string, target: Fields, read: ReadYaml = readYaml): EditedText {
  const document = requireDocument(read(text));
  const body = prepareBody(text);
  const tree = body.isEnded ? document.tree : parseYaml(body.text);
  const top = topOf(document, tree);
  if (sameValue(top, target)) return { text, grain: 'nothing' };
  const attempts: [Grain, () => string | undefined][] = [
    ['places', () => (top === null ? fillBlank(body, tree, target) : editMap(body, tree, target, {}))],
    ['quoted-places', () => editMap(body, tree, target, { blocks: false })],
    ['fields', () => editMap(body, tree, target, { coarse: true })],
    ['file', () => newLines(target, body.eol)],
  ];
  for (const [grain, attempt] of attempts) {
    const edited = attempt();
    const result =
      edited === undefined
        ? undefined
        : restoreEnds(body, edited).find((candidate) => holds(candidate, target));
    if (result !== undefined) return { text: result, grain };
  }
  throw new HoldfastError('invalid', 'these values cannot be written as YAML that is read back');
}

/** Whether the text holds the target when it is read back. */
function holds(text: string, target: Fields): boolean {
  const read = readYaml(text);
  return read.ok && sameValue(read.value.value, target);
}

function requireDocument(read: ReadResult<YamlSource>): YamlSource {
  if (read.ok) return read.value;
  const { line, message } = read.problems[0] ?? { line: 1, message: 'cannot be read' };
  throw new HoldfastError('invalid', `line ${line}: ${message}`, { problems: read.problems });
}

/** The map that a text holds; null if it holds only comments or an explicit `null`. Throws for all other values. */
function topOf({ value }: YamlDocument, { document: { contents } }: YamlTree): object | null {
  if (isMap(contents)) return value as object;
  if (value === null) return null;
  throw new HoldfastError('invalid', 'the file must be a map of fields');
}

/** A text prepared for editing: without a byte order mark, and with a line break at the end of every line. */
interface Body {
  text: string;
  /** The more frequent line break of the text. */
  eol: string;
  /** Whether the original text begins with a byte order mark. */
  hasBom: boolean;
  /** Whether the original text ends with a line break, or is empty. */
  isEnded: boolean;
}

function prepareBody(text: string): Body {
  const hasBom = text.startsWith(BOM);
  const withoutBom = hasBom ? text.slice(1) : text;
  const breaks = withoutBom.split('\n').length - 1;
  const eol = withoutBom.split('\r\n').length - 1 > breaks / 2 ? '\r\n' : '\n';
  const isEnded = withoutBom === '' || withoutBom.endsWith('\n');
  return { text: isEnded ? withoutBom : withoutBom + eol, eol, hasBom, isEnded };
}

/**
 * Restores the byte order mark and the missing final line break of the original text. Returns the results to try, best
 * first: without a final line break, a block scalar at the end can lose its own, so the text with one comes second.
 */
function restoreEnds({ hasBom, isEnded }: Body, edited: string): string[] {
  const result = (hasBom ? BOM : '') + edited;
  return isEnded ? [result] : [result.replace(/\r?\n$/, ''), result];
}

interface EditOptions {
  /** Whether strings of several lines become block scalars (default: true). */
  blocks?: boolean;
  /** Whether fields that differ are rewritten as a whole (default: false). */
  coarse?: boolean;
}

function editMap(
  body: Body,
  { document }: YamlTree,
  target: Fields,
  { blocks = true, coarse = false }: EditOptions,
): string | undefined {
  if (!isMap(document.contents)) return undefined;
  const top = layOut(body.text, document.contents) as CollectionPart;
  const patch = new Patch(body.text, body.eol);
  editTop(patch, top, target, { ...fileStyle(body.text, top), blocks }, coarse);
  return patch.apply();
}

/** Adds the fields to a file without any: below its comments, and above the end marker `...` if there is one. */
function fillBlank(body: Body, { document: { contents } }: YamlTree, target: Fields): string {
  const text = contents?.srcToken === undefined ? body.text : withoutNull(body.text, contents.range);
  const end = /(?<![^\n])\.\.\.(?=\s)/.exec(text)?.index ?? text.length;
  return text.slice(0, end) + newLines(target, body.eol) + text.slice(end);
}

/** Removes the explicit `null` from a text that has no other value. */
function withoutNull(text: string, [start, end]: readonly number[]): string {
  const before = text.slice(0, start);
  const rest = text.slice(end).replace(/^[ \t]+/, '');
  if (!/^\r?\n/.test(rest)) return before + rest;
  return isFirstOnLine(text, before.length)
    ? before + rest.replace(/^\r?\n/, '')
    : trimTrailingBlanks(before) + rest;
}

function newLines(target: Fields, eol: string): string {
  return renderYaml(target).replaceAll('\n', eol);
}
