import { FORBIDDEN_KEYS } from './document.ts';

/** A value on one line that all readers of YAML read in the same way. */
export type PlainScalar = string | number | boolean;

/** A word, and words with single spaces between them. No character in them can be an indicator of YAML. */
const WORD = '[A-Za-z0-9/_](?:[A-Za-z0-9/_.@%+=~-]|:(?=[A-Za-z0-9/_.]))*';
const BARE = `${WORD}(?: ${WORD})*`;
/** Without escapes, and without doubled quotes. */
const QUOTED = String.raw`"[^"\\]*"|'[^']*'`;

/** Patterns of a scalar and of a key, for use in other patterns. */
export const SCALAR = `(?:${QUOTED}|${BARE})`;
export const KEY = String.raw`(?:[A-Za-z_][A-Za-z0-9_.-]{0,127}|"[^"\\]{0,128}")`;

const BOOLEANS: ReadonlyMap<string, boolean> = new Map([
  ...['true', 'True', 'TRUE'].map((word) => [word, true] as const),
  ...['false', 'False', 'FALSE'].map((word) => [word, false] as const),
]);
const NULLS = new Set(['null', 'Null', 'NULL']);

const WHOLE = /^(?:0|[1-9]\d{0,14})$/;
const DECIMAL = /^\d{1,9}\.\d{1,6}$/;
/** A character that occurs in no notation of a number: a text with one is a string. */
const NO_NUMBER = /[/:@%=~_g-np-wyzG-NP-WYZ]/;

/** Returns the value of a text that `SCALAR` matches; undefined if only the full parser can determine it. */
export function plainScalar(raw: string): PlainScalar | undefined {
  const first = raw.charCodeAt(0);
  if (first === 0x22 || first === 0x27) return raw.slice(1, -1);
  if (first < 0x30 || first > 0x39) return NULLS.has(raw) ? undefined : (BOOLEANS.get(raw) ?? raw);
  if (WHOLE.test(raw) || DECIMAL.test(raw)) return Number(raw);
  return NO_NUMBER.test(raw) ? raw : undefined;
}

/** Returns the key in a text that `KEY` matches; undefined if the key is refused, or not a string without quotes. */
export function plainKey(raw: string): string | undefined {
  const isQuoted = raw.startsWith('"');
  const key = isQuoted ? raw.slice(1, -1) : raw;
  if (FORBIDDEN_KEYS.has(key) || (!isQuoted && (BOOLEANS.has(key) || NULLS.has(key)))) return undefined;
  return key;
}
