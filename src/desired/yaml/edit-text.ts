import { isMap } from 'yaml';
import { HoldfastError } from '../../errors.ts';
import { sameValue } from '../values.ts';
import { type ReadResult, type ReadYaml, readYaml, type YamlDocument, type YamlSource } from './document.ts';
import { editTop } from './edit-part.ts';
import { type CollectionPart, layOut } from './layout.ts';
import { startsLine } from './lines.ts';
import { parseYaml, type YamlTree } from './parse.ts';
import { filePen } from './pen.ts';
import { readPlain } from './plain.ts';
import { renderYaml } from './render.ts';
import { Draft } from './splice.ts';

type Target = Readonly<Record<string, unknown>>;

/**
 * What an edit had to write anew: nothing; the places that differ; the same without new block scalars, which could
 * take a comment below them as their own line; the fields that differ; or the whole file.
 */
export type Grain = 'nothing' | 'places' | 'quoted-places' | 'fields' | 'file';

/** An edited text, which is sure to hold the target, and the finest grain that led to it. */
export interface EditedText {
  text: string;
  grain: Grain;
}

const BOM = '\ufeff';

/** Does what `editYaml` promises, and tells how fine the edit is. */
export function editText(text: string, target: Target, read: ReadYaml = readYaml): EditedText {
  const document = requireDocument(read(text));
  const body = openBody(text);
  const tree = body.text === text ? document.tree : parseYaml(body.text);
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
      edited === undefined ? undefined : closings(body, edited).find((each) => holds(each, target));
    if (result !== undefined) return { text: result, grain };
  }
  throw new HoldfastError('invalid', 'these values cannot be written as YAML that is read back');
}

function holds(text: string, target: Target): boolean {
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

/** The map that a text holds, or null where it holds nothing but comments or a written `null`. */
function topOf({ value }: YamlDocument, { document: { contents } }: YamlTree): object | null {
  if (isMap(contents)) return value as object;
  if (value === null) return null;
  throw new HoldfastError('invalid', 'the file must be a map of fields');
}

/** A text without its byte order mark and with a line break at its end, so that all lines are alike. */
interface Body {
  text: string;
  eol: string;
  hasMark: boolean;
  /** Whether the line break at the end is its own. */
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

/** An edited text with the ends of the original one; a block scalar may need the line break that was added. */
function closings({ hasMark, ended }: Body, edited: string): string[] {
  const marked = (hasMark ? BOM : '') + edited;
  return ended ? [marked] : [marked.replace(/\r?\n$/, ''), marked];
}

interface Manner {
  /** Whether strings of several lines become block scalars. */
  blocks?: boolean;
  /** Whether fields that differ are written anew as a whole. */
  coarse?: boolean;
}

function editMap(
  body: Body,
  { document }: YamlTree,
  target: Target,
  { blocks = true, coarse = false }: Manner,
): string | undefined {
  if (!isMap(document.contents)) return undefined;
  const top = layOut(body.text, document.contents) as CollectionPart;
  const draft = new Draft(body.text, body.eol);
  editTop(draft, top, target, { ...filePen(body.text, top), blocks }, coarse);
  return draft.apply();
}

/** Adds the fields below the comments of a file that holds nothing else, above the mark of its end. */
function fillBlank(body: Body, { document: { contents } }: YamlTree, target: Target): string {
  const text = contents?.srcToken === undefined ? body.text : withoutNull(body.text, contents.range);
  const end = /^\.\.\.(?=\s)/m.exec(text)?.index ?? text.length;
  return text.slice(0, end) + newLines(target, body.eol) + text.slice(end);
}

/** A text whose only value is a written `null`, without that value. */
function withoutNull(text: string, [start, end]: readonly number[]): string {
  const before = text.slice(0, start);
  const rest = text.slice(end).replace(/^[ \t]+/, '');
  if (!/^\r?\n/.test(rest)) return before + rest;
  return startsLine(text, before.length) ? before + rest.replace(/^\r?\n/, '') : before.trimEnd() + rest;
}

function newLines(target: Target, eol: string): string {
  return renderYaml(target).replaceAll('\n', eol);
}
