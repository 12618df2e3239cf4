import { FORBIDDEN_KEYS } from './document.ts';

/** Values that are written on one line, and mean the same to everybody. */
export type PlainScalar = string | number | boolean;

/** One word, and words with single spaces between them: nothing in it is an indicator of YAML, wherever it stands. */
const WORD = '[A-Za-z0-9/_](?:[A-Za-z0-9/_.@%+=~-]|:(?=[A-Za-z0-9/_.]))*';
const BARE = `${WORD}(?: ${WORD})*`;
/** Without escapes, and without the other quote's doubling. */
const QUOTED = String.raw`"[^"\\]*"|'[^']*'`;

/** Patterns to build others of. */
export const SCALAR = `(?:${QUOTED}|${BARE})`;
export const KEY = String.raw`(?:[A-Za-z_][A-Za-z0-9_.-]{0,127}|"[^"\\]{0,128}")`;

const BOOLEANS: ReadonlyMap<string, boolean> = new Map([
  ...['true', 'True', 'TRUE'].map((word) => [word, true] as const),
  ...['false', 'False', 'FALSE'].map((word) => [word, false] as const),
]);
const NULLS = new Set(['null', 'Null', 'NULL']);

const WHOLE = /^(?:0|[1-9]\d{0,14})$/;
const DECIMAL = /^\d{1,9}\.\d{1,6}$/;
/** What stands in no number of any notation. */
const NO_NUMBER = /[/:@%=~_g-np-wyzG-NP-WYZ]/;

/** The value of a text that `SCALAR` matches; undefined where that takes more to know. */
export function plainScalar(raw: string): PlainScalar | undefined {
  const first = raw.charCodeAt(0);
  if (first === 0x22 || first === 0x27) return raw.slice(1, -1);
  if (first < 0x30 || first > 0x39) return NULLS.has(raw) ? undefined : (BOOLEANS.get(raw) ?? raw);
  if (WHOLE.test(raw) || DECIMAL.test(raw)) return Number(raw);
  return NO_NUMBER.test(raw) ? raw : undefined;
}

/** The key that a text of `KEY` stands for; undefined where it is refused, or would be no text without quotes. */
export function plainKey(raw: string): string | undefined {
  const isQuoted = raw.startsWith('"');
  const key = isQuoted ? raw.slice(1, -1) : raw;
  if (FORBIDDEN_KEYS.has(key) || (!isQuoted && (BOOLEANS.has(key) || NULLS.has(key)))) return undefined;
  return key;
}
