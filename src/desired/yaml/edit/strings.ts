import { Schema } from 'yaml';

/** The two ways to quote a string. */
export type Quote = "'" | '"';

/** How a scalar is written in the text; `none` for a value that is left out. */
export type ScalarStyle = 'plain' | 'single' | 'double' | 'block' | 'none';

/** A literal block scalar to write: its header (such as `|-`) and the lines below it, not yet indented. */
export interface Literal {
  header: string;
  lines: string[];
}

/** Patterns of plain text that YAML 1.2 or 1.1 reads as another type than a string. */
const NON_STRINGS = nonStringPatterns();
/** Characters that readers of YAML refuse or change, or that make a text look different from what it is. */
const UNPRINTABLE =
  /[\p{Cc}\p{Cs}\p{Zl}\p{Zp}\u200b\u200e\u200f\u202a-\u202e\u2066-\u2069\ufeff\ufffe\uffff]/u;
const ALL_UNPRINTABLE = new RegExp(UNPRINTABLE, 'gu');
const NOT_PLAIN = /^[\s,[\]{}#&*!|>'"%@`]|^[-?:](?:\s|$)|^(?:---|\.\.\.|[=~]$|<<$)|:(?:\s|$)|\s#|\s$/;
const NOT_PLAIN_IN_FLOW = /[[\]{},]|^[-?:]/;

function nonStringPatterns(): RegExp[] {
  const { tags, compat } = new Schema({ schema: 'core', compat: 'yaml-1.1' });
  const tests = [...tags, ...(compat ?? [])].map((tag) =>
    tag.default && 'test' in tag ? tag.test : undefined,
  );
  return tests.filter((test) => test !== undefined);
}

/** Whether every reader of YAML reads this same string if it is written without quotes. */
export function canBePlain(value: string, inFlow: boolean): boolean {
  if (value === '' || NOT_PLAIN.test(value) || UNPRINTABLE.test(value)) return false;
  if (inFlow && NOT_PLAIN_IN_FLOW.test(value)) return false;
  return !NON_STRINGS.some((test) => test.test(value));
}

/** A string in quotes, on one line. Uses the other kind than `quote` if the string needs it, or needs fewer escapes with it. */
export function quoted(value: string, quote: Quote): string {
  if (UNPRINTABLE.test(value)) return doubleQuoted(value);
  const savesEscapes = /["\\]/.test(value) && !value.includes("'");
  return quote === "'" || savesEscapes ? singleQuoted(value) : doubleQuoted(value);
}

/** A string on one line, in the style of the scalar that it replaces if that style can express it. */
export function inStyle(value: string, style: ScalarStyle, quote: Quote, inFlow: boolean): string {
  if (style === 'double') return doubleQuoted(value);
  if (style === 'single') return UNPRINTABLE.test(value) ? doubleQuoted(value) : singleQuoted(value);
  return canBePlain(value, inFlow) ? value : quoted(value, quote);
}

function singleQuoted(value: string): string {
  return `'${value.replaceAll("'", "''")}'`;
}

function doubleQuoted(value: string): string {
  const escaped = (char: string) => `\\u${char.charCodeAt(0).toString(16).padStart(4, '0')}`;
  return JSON.stringify(value).replace(ALL_UNPRINTABLE, escaped);
}

/**
 * A string as a literal block scalar whose lines are indented by `width` columns more than their parent. Undefined if the
 * string has no line break, or a block scalar cannot express it. Only with `keep` may the string end in several line breaks:
 * they become blank lines that belong to the scalar (`|+`).
 */
export function literal(value: string, width: number, keep = false): Literal | undefined {
  const content = withoutTrailingBreaks(value);
  const breaks = value.length - content.length;
  if (!value.includes('\n') || (breaks > 1 && !keep)) return undefined;
  const lastLine = content.slice(content.lastIndexOf('\n') + 1);
  if (lastLine.trim() === '' || UNPRINTABLE.test(value.replace(/[\n\t]/g, ''))) return undefined;
  const indented = /^\n*[ \t]/.test(content);
  if (indented && width > 9) return undefined;
  const chomp = breaks === 0 ? '-' : breaks === 1 ? '' : '+';
  const blanks = Array.from({ length: Math.max(breaks - 1, 0) }, () => '');
  return { header: `|${indented ? width : ''}${chomp}`, lines: [...content.split('\n'), ...blanks] };
}

function withoutTrailingBreaks(value: string): string {
  let end = value.length;
  while (value[end - 1] === '\n') end--;
  return value.slice(0, end);
}
