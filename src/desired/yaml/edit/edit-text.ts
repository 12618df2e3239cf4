import { isMap } from 'yaml';
import { HoldfastError } from '../../../errors.ts';
import { type Fields, sameValue } from '../../values.ts';
import { type ReadResult, type ReadYaml, readYaml, type YamlDocument, type YamlSource } from '../document.ts';
import { parseYaml, type YamlTree } from '../parse.ts';
import { readPlain } from '../plain.ts';
import { editTop } from './edit-part.ts';
import { type CollectionPart, layOut } from './layout.ts';
import { startsLine, trimBlanks } from './lines.ts';
import { Patch } from './patch.ts';
import { filePen } from './pen.ts';
import { renderYaml } from './render.ts';

/**
 * How much an edit rewrote, from fine to coarse:
 * - `nothing`: the text held the target already;
 * - `places`: the values that differ;
 * - `quoted-places`: the same, with strings of several lines in quotes: as a block scalar, one of them would have
 *   swallowed a comment below it; if need be, also without the tabs of blank lines, below which a key can be refused;
 * - `fields`: the top-level fields that differ;
 * - `file`: everything.
 */
export type Grain = 'nothing' | 'places' | 'quoted-places' | 'fields' | 'file';

/** An edited text, read back and found to hold the target, and the finest grain that achieved it. */
export interface EditedText {
  text: string;
  grain: Grain;
}

const BOM = '\ufeff';

/** `editYaml`, which also returns the grain of the edit. */
export function editText(text: string, target: Fields, read: ReadYaml = readYaml): EditedText {
  const document = requireDocument(read(text));
  const body = openBody(text);
  const tree = body.text === text ? document.tree : parseYaml(body.text);
  const top = topOf(document, tree);
  if (sameValue(top, target)) return { text, grain: 'nothing' };
  const attempts: [Grain, () => string | undefined][] = [
    ['places', () => (top === null ? fillBlank(body, tree, target) : editMap(body, tree, target, {}))],
    ['quoted-places', () => editMap(body, tree, target, { blocks: false })],
    ['quoted-places', () => editWithoutTabs(body, target)],
    ['fields', () => editMap(body, tree, target, { coarse: true })],
    ['file', () => newLines(target, body.eol)],
  ];
  for (const [grain, attempt] of attempts) {
    const edited = attempt();
    const result =
      edited === undefined ? undefined : withEnds(body, edited).find((each) => holds(each, target));
    if (result !== undefined) return { text: result, grain };
  }
  throw new HoldfastError('invalid', 'these values cannot be written as YAML that is read back');
}

/** Whether the text, read back, is the target. */
function holds(text: string, target: Fields): boolean {
  const plain = readPlain(text);
  if (plain !== null) return sameValue(plain.value, target);
  const read = readYaml(text);
  return read.ok && sameValue(read.value.value, target);
}

function requireDocument(read: ReadResult<YamlSource>): YamlSource {
  if (read.ok) return read.value;
  const { line, message } = read.problems[0] ?? { line: 1, message: 'cannot be read' };
  throw new HoldfastError('invalid', `line ${line}: ${message}`, { problems: read.problems });
}

/** The map that a text holds; null if it holds nothing but comments or an explicit `null`. */
function topOf({ value }: YamlDocument, { document: { contents } }: YamlTree): object | null {
  if (isMap(contents)) return value as object;
  if (value === null) return null;
  throw new HoldfastError('invalid', 'the file must be a map of fields');
}

/** A text prepared for editing: without byte order mark, and with a line break at the end of every line. */
interface Body {
  text: string;
  eol: string;
  hasMark: boolean;
  /** Whether the line break at the end was there before. */
  ended: boolean;
}

function openBody(text: string): Body {
  const hasMark = text.startsWith(BOM);
  const own = hasMark ? text.slice(1) : text;
  const breaks = own.split('\n').length - 1;
  const eol = own.split('\r\n').length - 1 > breaks / 2 ? '\r\n' : '\n';
  const ended = own === '' || own.endsWith('\n');
  return { text: ended ? own : own + eol, eol, hasMark, ended };
}

/**
 * An edited text with the byte order mark and the final line break of the original one. If that had no final line
 * break, the text with one is the second choice: a block scalar at the end may need it.
 */
function withEnds({ hasMark, ended }: Body, edited: string): string[] {
  const marked = (hasMark ? BOM : '') + edited;
  return ended ? [marked] : [marked.replace(/\r?\n$/, ''), marked];
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
  editTop(patch, top, target, { ...filePen(body.text, top), blocks }, coarse);
  return patch.apply();
}

function editWithoutTabs(body: Body, target: Fields): string | undefined {
  const text = body.text.replace(/(?<![^\n]) *\t[ \t]*(?=\r?\n)/g, '');
  return editMap({ ...body, text }, parseYaml(text), target, { blocks: false });
}

/** Adds the fields to a file that has only comments: below them, and above the end marker `...` if there is one. */
function fillBlank(body: Body, { document: { contents } }: YamlTree, target: Fields): string {
  const text = contents?.srcToken === undefined ? body.text : withoutNull(body.text, contents.range);
  const end = /(?<![^\n])\.\.\.(?=\s)/.exec(text)?.index ?? text.length;
  return text.slice(0, end) + newLines(target, body.eol) + text.slice(end);
}

/** Takes the explicit `null` out of a text that has no other value. */
function withoutNull(text: string, [start, end]: readonly number[]): string {
  const before = text.slice(0, start);
  const rest = text.slice(end).replace(/^[ \t]+/, '');
  if (!/^\r?\n/.test(rest)) return before + rest;
  return startsLine(text, before.length) ? before + rest.replace(/^\r?\n/, '') : trimBlanks(before) + rest;
}

function newLines(target: Fields, eol: string): string {
  return renderYaml(target).replaceAll('\n', eol);
}
