import {
  Composer,
  type CST,
  type Document,
  type ErrorCode,
  Lexer,
  LineCounter,
  type ParsedNode,
  Parser,
  parseDocument,
  YAMLParseError,
} from 'yaml';
import { blanked, misleadingComments, type Span } from './misleading-comments.ts';

/** How often a text is parsed at most, each time without the comments that misled the parser before. */
const MAX_PASSES = 8;

const MISLED =
  'move this comment above its key or dash; there are too many comments between keys or dashes and their values';

/** Deepest nesting of maps and lists that is read. Valid files need four levels. */
export const MAX_DEPTH = 32;
/**
 * The most words, signs and line breaks of a text that is read: time and memory follow their number, not the size of the
 * text. An item of a list has six.
 */
export const MAX_LEXEMES = 40_000;

/** The syntax tree of a text, and the map from its offsets to lines. */
export interface YamlTree {
  document: Document.Parsed<ParsedNode, true>;
  lines: LineCounter;
  /** Whether the text has more than `MAX_LEXEMES`: then the document is empty. */
  isTooLong: boolean;
}

const OPTIONS = {
  version: '1.2',
  schema: 'core',
  strict: true,
  // Checked by readYaml instead: the parser's own check takes time quadratic in the size of a map.
  uniqueKeys: false,
  stringKeys: true,
  merge: false,
  keepSourceTokens: true,
  prettyErrors: false,
  logLevel: 'error',
} as const;

/**
 * Parses a text as YAML 1.2 with the core schema, string keys and no merge keys. Reading and editing both use this function,
 * so that they agree on every text.
 *
 * The first error ends the parse: a text can have one at each character, and each takes a tenth of a millisecond. For a
 * text that is nested too deeply, returns an empty document with that one error. Composing is recursive, and if V8
 * has to compile a regular expression on a nearly full stack, it ends the process without an exception to catch.
 */
export function parseYaml(text: string): YamlTree {
  const lines = countLines(text);
  if (isTooLong(text)) return { document: parseDocument('', OPTIONS), lines, isTooLong: true };
  return { document: parseToDocument(text), lines, isTooLong: false };
}

/** Whether a text has more than `MAX_LEXEMES`. The lexer alone takes a tenth of the time of a parse. */
export function isTooLong(text: string): boolean {
  // No character makes more than two.
  if (text.length <= MAX_LEXEMES / 2) return false;
  let count = 0;
  for (const _ of new Lexer().lex(text)) {
    count += 1;
    if (count > MAX_LEXEMES) return true;
  }
  return false;
}

function parseToDocument(text: string): YamlTree['document'] {
  const { tokens, misled, stopped } = tokensOf(text);
  if (misled !== undefined) return refused(misled, 'IMPOSSIBLE', MISLED);
  const deep = tokens.map(tooDeepAt).find((offset) => offset !== undefined) ?? stopped;
  if (deep === undefined) return compose(tokens, text.length);
  return refused([deep, deep + 1], 'RESOURCE_EXHAUSTION', 'is nested too deeply');
}

/** Returns an empty document with this one error. */
function refused(at: Span, code: ErrorCode, message: string): YamlTree['document'] {
  return withError(new YAMLParseError(at, code, message));
}

function withError(error: YAMLParseError): YamlTree['document'] {
  const document = parseDocument('', OPTIONS);
  document.errors.push(error);
  return document;
}

/**
 * Parses a text into tokens, with blank lines in place of the comments that mislead the parser. `misled` is one of these
 * comments that remains after `MAX_PASSES`.
 */
function tokensOf(text: string): Parsed & { misled: Span | undefined } {
  let source = text;
  for (let pass = 1; ; pass++) {
    const parsed = parse(source);
    const comments = misleadingComments(parsed.tokens);
    if (comments.length === 0 || pass === MAX_PASSES) return { ...parsed, misled: comments[0] };
    source = blanked(source, comments);
  }
}

/**
 * The parser ends nested values by recursion, which a few thousand levels overflow. A text with so many open values is
 * refused anyway.
 */
const MAX_OPEN = 8 * MAX_DEPTH;

interface Parsed {
  tokens: CST.Token[];
  /** The offset at which more than `MAX_OPEN` values were open; undefined if that was nowhere. */
  stopped: number | undefined;
}

/** Does the same as `Parser.parse`, but stops where too many values are open. */
function parse(source: string): Parsed {
  const parser = new Parser();
  const tokens: CST.Token[] = [];
  for (const lexeme of new Lexer().lex(source)) {
    for (const token of parser.next(lexeme)) tokens.push(token);
    if (parser.stack.length > MAX_OPEN)
      return { tokens: tokens.concat(...parser.end()), stopped: parser.offset };
  }
  return { tokens: tokens.concat(...parser.end()), stopped: undefined };
}

/** Counts the lines without the parser, whose own counter misses line breaks behind some errors. */
function countLines(text: string): LineCounter {
  const lines = new LineCounter();
  lines.addNewLine(0);
  for (let at = text.indexOf('\n'); at >= 0; at = text.indexOf('\n', at + 1)) lines.addNewLine(at + 1);
  return lines;
}

/**
 * Composes the first document. A second one is reported as an error of the first. After an error or a warning, the document
 * is empty and has only that.
 */
function compose(tokens: readonly CST.Token[], length: number): YamlTree['document'] {
  let first: YAMLParseError | undefined;
  const composer = new Composer<ParsedNode, true>(OPTIONS);
  const onError = (source: ErrorSource, code: ErrorCode, message: string): never => {
    first ??= new YAMLParseError(spanOf(source), code, message);
    throw first;
  };
  // Private, since `yaml` has no option for this.
  Object.defineProperty(composer, 'onError', { value: onError });
  try {
    return composed(composer, tokens, length);
  } catch (error) {
    if (first === undefined) throw error;
    return withError(first);
  }
}

type ErrorSource = number | readonly [number, number, number?] | { offset: number; source?: string };

function spanOf(source: ErrorSource): Span {
  if (typeof source === 'number') return [source, source + 1];
  if ('offset' in source) return [source.offset, source.offset + (source.source?.length ?? 1)];
  return [source[0], source[1]];
}

function composed(
  composer: Composer<ParsedNode, true>,
  tokens: readonly CST.Token[],
  length: number,
): YamlTree['document'] {
  const [document, second] = composer.compose(tokens, true, length);
  if (document === undefined) throw new Error('the composer gave no document');
  if (second !== undefined) {
    const [start, end] = second.range;
    document.errors.push(
      new YAMLParseError([start, end], 'MULTIPLE_DOCS', 'there is more than one document'),
    );
  }
  return document;
}

/** The offset at which a tree of tokens exceeds `MAX_DEPTH`; undefined if it does not. Works without recursion. */
function tooDeepAt(token: CST.Token): number | undefined {
  let level = token.type === 'document' ? collections([token.value]) : [];
  for (let depth = 0; depth < MAX_DEPTH && level.length > 0; depth++) {
    level = level.flatMap(({ items }) => items.flatMap(({ key, value }) => collections([key, value])));
  }
  return level[0]?.offset;
}

type Collection = Extract<CST.Token, { items: unknown }>;

function collections(tokens: readonly (CST.Token | null | undefined)[]): Collection[] {
  return tokens.filter((token): token is Collection => token != null && 'items' in token);
}
