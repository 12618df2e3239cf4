import {
  type ErrorCode,
  isAlias,
  isMap,
  isPair,
  isScalar,
  type Node,
  type Pair,
  visit,
  type YAMLMap,
} from 'yaml';
import { fileProblem, type ProblemCode, type TextProblem } from '../problem.ts';
import { isTooLong, MAX_DEPTH, MAX_LEXEMES, parseYaml, type YamlTree } from './parse.ts';

/** Largest file that is read, in bytes. */
export const MAX_FILE_BYTES = 64 * 1024;
/** Most problems that are reported of one file: a broken file can have one on every line. */
export const MAX_PROBLEMS = 20;

/** Keys that are refused because every JavaScript object already has a property of that name. */
export const FORBIDDEN_KEYS = new Set(['__proto__', 'constructor', 'prototype']);
const CORE_TAG = /^tag:yaml\.org,2002:(str|int|float|bool|null|map|seq)$/;

/** A position in a text; line and column count from 1. A byte order mark is not a column, as in editors. */
export interface Position {
  line: number;
  column: number;
}

/** A YAML text as plain data, and the position of each part of the data. */
export interface YamlDocument {
  value: unknown;
  /** Returns the position of the key or list item at a path or, if there is none, of its nearest parent. */
  positionOf(path: readonly (string | number)[]): Position;
}

/** A document with its syntax tree, which editing needs; its offsets do not count a byte order mark. */
export interface YamlSource extends YamlDocument {
  tree: YamlTree;
}

/** Either the value that is read, or the problems for which it cannot be. */
export type ReadResult<T> = { ok: true; value: T } | { ok: false; problems: TextProblem[] };

/** Decodes a file of at most `MAX_FILE_BYTES` bytes of UTF-8. A byte order mark stays in the text. Never throws. */
export function decodeText(bytes: Uint8Array): ReadResult<string> {
  if (bytes.length > MAX_FILE_BYTES) return { ok: false, problems: [tooLarge(bytes.length)] };
  try {
    const text = new TextDecoder('utf-8', { fatal: true, ignoreBOM: true }).decode(bytes);
    if (!text.includes('\0')) return { ok: true, value: text };
  } catch {
    // Not UTF-8. Reported below, as are NUL bytes, which UTF-16 and binary files have.
  }
  const message = 'is not UTF-8 text; save it as UTF-8';
  return { ok: false, problems: [fileProblem('file-not-text', message)] };
}

/** Returns the problem of a file that is too large to be read. `size` is in bytes. */
export function tooLarge(size: number): TextProblem {
  return fileProblem(
    'file-too-large',
    `has ${size} bytes; at most ${MAX_FILE_BYTES} are read: split or shorten it`,
  );
}

/** How large a file can be. */
export const FILE_LIMITS = `at most ${MAX_FILE_BYTES} bytes, and ${MAX_LEXEMES} words, signs and line breaks, are read`;
const TOO_LONG = `has more than ${MAX_LEXEMES} words, signs and line breaks, and is not read: split or shorten it`;

/** Whether a file with this text would not be read. */
export function isTooLarge(text: string): boolean {
  return Buffer.byteLength(text) > MAX_FILE_BYTES || isTooLong(text);
}

/**
 * Reads a text as one strict YAML document. Never throws. Reports one error of the syntax, or else up to `MAX_PROBLEMS`
 * problems at once.
 */
export function readYaml(text: string): ReadResult<YamlSource> {
  // The parser does not count the spaces behind a byte order mark as indentation.
  const body = text.replace(/^\ufeff/, '');
  const tree = parseYaml(body);
  const problems = syntaxProblems(body, tree);
  if (problems.length === 0) problems.push(...contentProblems(tree));
  if (problems.length > 0) return { ok: false, problems };
  const value: unknown = tree.document.toJS({ maxAliasCount: 0 });
  return { ok: true, value: { value, tree, positionOf: (path) => positionOf(tree, path) } };
}

/** `readYaml`, or a function that gives the same results. */
export type ReadYaml = typeof readYaml;

/** Returns a `readYaml` with a cache: an edit reads the same texts several times, and each is parsed once. */
export function cachedReadYaml(): ReadYaml {
  const known = new Map<string, ReadResult<YamlSource>>();
  return (text) => {
    const result = known.get(text) ?? readYaml(text);
    known.set(text, result);
    return result;
  };
}

/** The message of the problem `yaml-depth`. */
export const DEPTH_HINT = `is nested too deeply; at most ${MAX_DEPTH} levels are read`;
const DIRECTIVE_HINT = 'remove the lines that begin with "%"; only YAML 1.2 is read';
const TAG_HINT =
  'remove this tag (the word after "!"); only plain values are read. Put it in quotes if it is a value that begins with "!"';

/** Messages that replace those of the parser. All other codes keep the message of the parser. */
const SYNTAX_HINTS: Partial<Record<ErrorCode, string>> = {
  TAB_AS_INDENT: 'indent with spaces, not with tabs',
  MULTIPLE_DOCS: 'a file holds one object; remove everything from the second "---" on',
  NON_STRING_KEY:
    'keys must be plain text; a list or map cannot be a key: put a value that begins with "{" or "[" in quotes',
  MISSING_CHAR: 'a closing quote or bracket, a comma, or the colon and space after a key is missing here',
  BLOCK_AS_IMPLICIT_KEY:
    'this looks like a key within a value: put a value with ": " in it in quotes, or move a key to a line of its own with the right indentation',
  MULTILINE_IMPLICIT_KEY:
    'a key and its colon must be on one line; check for a missing colon, and for lines that are indented differently',
  BAD_INDENT: 'the indentation does not match the lines above, or a closing bracket is missing',
  BAD_DIRECTIVE: DIRECTIVE_HINT,
  BAD_DQ_ESCAPE:
    'in double quotes, a backslash begins an escape sequence, and this one is invalid; double the backslash',
  RESOURCE_EXHAUSTION: DEPTH_HINT,
  TAG_RESOLVE_FAILED: TAG_HINT,
};

/** The problem codes of some errors of the parser; all other errors are `yaml-syntax`. */
const SYNTAX_CODES: Partial<Record<ErrorCode, ProblemCode>> = {
  BAD_DIRECTIVE: 'yaml-directive',
  RESOURCE_EXHAUSTION: 'yaml-depth',
  TAG_RESOLVE_FAILED: 'yaml-tag',
};

/** Returns the first problem of the parser, if there is one, with a message that says what to do. */
function syntaxProblems(text: string, { document, lines, isTooLong }: YamlTree): TextProblem[] {
  if (isTooLong) return [fileProblem('file-too-large', TOO_LONG)];
  const [error] = document.errors;
  if (error === undefined) return [];
  const conflict = CONFLICT_MIDDLE.test(text) ? text.search(CONFLICT) : -1;
  if (conflict >= 0) return [{ ...positionAt(lines, conflict), code: 'yaml-syntax', message: CONFLICT_HINT }];
  const code = SYNTAX_CODES[error.code] ?? 'yaml-syntax';
  const message = SYNTAX_HINTS[error.code] ?? withHint(error.message);
  return [{ ...positionAt(lines, error.pos[0]), code, message }];
}

/** The markers that git leaves in a file with a merge conflict. */
const CONFLICT = /^<{7} /m;
const CONFLICT_MIDDLE = /^={7}\r?$/m;
const CONFLICT_HINT =
  'a merge conflict is not resolved here; keep one side, and remove the lines with <<<<<<<, ======= and >>>>>>>';

/**
 * Adds a hint to a message of the parser whose code stands for several mistakes, and removes the part that quotes the file,
 * which can be a secret.
 */
function withHint(message: string): string {
  const [said = ''] = message.split(': ');
  if (said.startsWith('Plain value cannot start with')) return `${said}; put it in quotes`;
  if (said.startsWith('Block scalar header')) return HEADER_HINT;
  return said.endsWith(' at node end') ? BEHIND_HINT : said;
}

const HEADER_HINT =
  '"|" or ">" at the beginning of a value starts a block of text on the lines below; put the value in quotes if that is not intended';

const BEHIND_HINT =
  "this is after the end of a value: put the whole value in quotes, and within them, double a single quote ('') or escape a double quote (\\\")";

/** The problems of valid YAML that is refused because users would read it differently than the parser does. */
function contentProblems({ document, lines }: YamlTree): TextProblem[] {
  const found: TextProblem[] = [];
  if (document.directives.yaml.explicit === true || Object.keys(document.directives.tags).length > 1) {
    found.push(fileProblem('yaml-directive', DIRECTIVE_HINT));
  }
  const note = (problems: readonly NodeProblem[]): symbol | undefined => {
    for (const { offset, code, message } of problems)
      found.push({ ...positionAt(lines, offset), code, message });
    return found.length >= MAX_PROBLEMS ? visit.BREAK : undefined;
  };
  visit(document, {
    Node: (_key, node) => note(nodeProblems(node)),
    Pair: (_key, pair) => note(keyProblems(pair)),
  });
  return found.slice(0, MAX_PROBLEMS);
}

const ALIAS_HINT =
  'write the value out instead of this alias; put it in quotes if it is a value that begins with "*"';

interface NodeProblem {
  offset: number;
  code: ProblemCode;
  message: string;
}

function nodeProblems(node: Node): NodeProblem[] {
  const offset = node.range?.[0] ?? 0;
  if (isAlias(node)) {
    return [{ offset, code: 'yaml-alias', message: ALIAS_HINT }];
  }
  if (node.tag !== undefined && !CORE_TAG.test(node.tag)) {
    return [{ offset, code: 'yaml-tag', message: TAG_HINT }];
  }
  return isMap(node) ? repeatedKeys(node) : integerProblems(node, offset);
}

function repeatedKeys({ items }: YAMLMap): NodeProblem[] {
  const seen = new Set<unknown>();
  return items.flatMap(({ key }): NodeProblem[] => {
    const name = isScalar(key) ? key.value : key;
    const isNew = !seen.has(name);
    seen.add(name);
    if (isNew) return [];
    const message = 'duplicate key; keep only one';
    return [{ offset: (key as Node).range?.[0] ?? 0, code: 'yaml-syntax', message }];
  });
}

function keyProblems({ key }: Pair): NodeProblem[] {
  if (!isScalar(key) || !FORBIDDEN_KEYS.has(String(key.value))) return [];
  const offset = key.range?.[0] ?? 0;
  return [{ offset, code: 'yaml-key', message: `"${key.value}" cannot be a key; choose another name` }];
}

function integerProblems(node: Node, offset: number): NodeProblem[] {
  if (!isScalar(node) || typeof node.value !== 'number') return [];
  if (!Number.isInteger(node.value) || Number.isSafeInteger(node.value)) return [];
  const message = 'whole numbers beyond 2^53 are not exact; write this one in quotes';
  return [{ offset, code: 'yaml-integer', message }];
}

function positionOf({ document, lines }: YamlTree, path: readonly (string | number)[]): Position {
  for (let depth = path.length; depth > 0; depth--) {
    const offset = offsetOf(document, path.slice(0, depth));
    if (offset !== undefined) return positionAt(lines, offset);
  }
  return positionAt(lines, document.contents?.range[0] ?? 0);
}

function offsetOf(document: YamlTree['document'], path: readonly (string | number)[]): number | undefined {
  const parent = document.getIn(path.slice(0, -1), true);
  const last = path[path.length - 1];
  if (typeof parent !== 'object' || parent === null || !('items' in parent)) return undefined;
  const items = parent.items as (Node | Pair)[];
  const item = typeof last === 'number' ? items[last] : items.find((pair) => isPairOf(pair, last));
  const node = isPair(item) ? (item.key as Node) : (item as Node | undefined);
  return node?.range?.[0];
}

function isPairOf(item: Node | Pair, key: string | undefined): boolean {
  return isPair(item) && isScalar(item.key) && item.key.value === key;
}

function positionAt(lines: YamlTree['lines'], offset: number): Position {
  const { line, col } = lines.linePos(offset);
  return { line, column: col };
}
