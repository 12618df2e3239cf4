import { type Interpolation, interpolate, type Lookup } from './interpolate.ts';

/** A variable of a file, and its line, which counts from 1. */
export interface FileVariable {
  name: string;
  /** Null if the file only has the name, so that the value comes from elsewhere. */
  value: string | null;
  line: number;
}

/** A line that is neither a variable nor a comment. */
interface BadLine {
  line: number;
  message: string;
}

/** What a file of variables has. */
interface Dotenv {
  variables: FileVariable[];
  bad: BadLine[];
  /** The variables whose values use another one that is set nowhere, so that part of them is empty. */
  unset: Pick<FileVariable, 'name' | 'line'>[];
}

const START = /^\s*(?:export\s+)?([A-Za-z_][A-Za-z0-9_.-]*)\s*(?:([=:])[^\S\n]*|$)/;
const ESCAPES: Readonly<Record<string, string>> = { n: '\n', r: '\r', t: '\t' };

/**
 * Reads a file of variables as Compose reads `.env` and the files of `env_file`: `NAME=value` with an optional `export`,
 * comments, values in quotes over several lines, variables in values (not in single quotes).
 */
export function readDotenv(text: string, lookup: Lookup): Dotenv {
  const found: Dotenv = { variables: [], bad: [], unset: [] };
  const lines = text.replace(/^\ufeff/, '').split(/\r?\n/);
  for (let at = 0; at < lines.length; ) at += readAt(lines, at, lookup, found);
  return found;
}

/** Reads the variable that begins on a line; returns how many lines it has. */
function readAt(lines: readonly string[], at: number, lookup: Lookup, found: Dotenv): number {
  const text = lines[at] ?? '';
  if (/^\s*(#|$)/.test(text)) return 1;
  const [start, name, sign] = START.exec(text) ?? [];
  const line = at + 1;
  if (start === undefined || name === undefined) {
    found.bad.push({ line, message: 'is neither NAME=value nor a comment' });
    return 1;
  }
  if (sign === undefined) {
    found.variables.push({ name, value: null, line });
    return 1;
  }
  const known: Lookup = (wanted) => valueIn(found.variables, wanted) ?? lookup(wanted);
  const first = text.slice(start.length);
  // Only a value in quotes goes on below.
  const rest = /^['"]/.test(first) ? [first, ...lines.slice(at + 1)].join('\n') : first;
  const value = valueAt(rest, {
    lookup: known,
    onUse: () => undefined,
    onUnset: () => found.unset.push({ name, line }),
    onError: (message) => found.bad.push({ line, message }),
  });
  found.variables.push({ name, value: value.text, line });
  return value.lines;
}

function valueIn(variables: readonly FileVariable[], wanted: string): ReturnType<Lookup> {
  const value = variables.findLast(({ name }) => name === wanted)?.value;
  return value === undefined || value === null ? undefined : { value, foundIn: '' };
}

interface Value {
  text: string;
  lines: number;
}

/** Reads the value that a text begins with. */
function valueAt(text: string, how: Interpolation): Value {
  const [single, inSingle = ''] = /^'((?:[^'\\]|\\.)*)'/s.exec(text) ?? [];
  if (single !== undefined) return { text: inSingle.replaceAll("\\'", "'"), lines: countLines(single) };
  const [double, inDouble = ''] = /^"((?:[^"\\]|\\.)*)"/s.exec(text) ?? [];
  if (double !== undefined) return { text: interpolate(unescaped(inDouble), how), lines: countLines(double) };
  if (/^['"]/.test(text)) how.onError('has a quote that is not closed');
  const [plain = ''] = text.split('\n');
  return { text: interpolate(plain.replace(/(^|\s)#.*$/, '').trim(), how), lines: 1 };
}

/** Resolves escapes of double quotes; an escaped dollar sign stays one. */
function unescaped(text: string): string {
  return text.replace(/\\(.)/gs, (_, char: string) => (char === '$' ? '$$' : (ESCAPES[char] ?? char)));
}

function countLines(text: string): number {
  return text.split('\n').length;
}
