import type * as z from 'zod';
import { check, explain } from '../../desired/explain.ts';
import type { Fields } from '../../desired/values.ts';
import { MAX_FILE_BYTES } from '../../desired/yaml/document.ts';
import type { Refusal } from './body.ts';
import { inOneSentence, pathPrefix } from './reasons.ts';

/** Entries of a field that are checked at once: a body has room for half a million, and each bad one takes long. */
const PORTION = 1000;

/** Fields of a body, of which the long ones that need no further check are emptied. */
interface Shortened {
  /** With empty lists and maps in the place of the long fields that are bad, or that no file can hold. */
  short: Fields;
  /** The long fields that are bad, each with its first problems: further ones are not looked for. */
  bad: Refusal[];
  /** Whether no file can hold all of the fields; then only the first entries of long ones were looked at. */
  isTooLarge: boolean;
}

/** Looks at the long ones of some fields first, in portions. `bytes` is the size of the body that they came in. */
export function shortened(
  fields: Fields,
  bytes: number,
  shape: Readonly<Record<string, z.ZodType>>,
): Shortened {
  const isTooLarge = bytes > MAX_FILE_BYTES && leastBytes(fields) > MAX_FILE_BYTES;
  const bad = Object.entries(fields).flatMap(([field, value]): Refusal[] => {
    const schema = Object.hasOwn(shape, field) ? shape[field] : undefined;
    if (schema === undefined || typeof value !== 'object' || value === null) return [];
    const why = whyNotLong(value, schema, isTooLarge ? PORTION : sizeOf(value));
    return why === null ? [] : [[field, why]];
  });
  const long = Object.keys(fields).filter((field) => sizeOf(fields[field]) > PORTION);
  return {
    short: emptied(fields, new Set([...fieldsOf(bad), ...(isTooLarge ? long : [])])),
    bad,
    isTooLarge,
  };
}

/** The names of the fields that are refused. */
export function fieldsOf(refused: readonly Refusal[]): Set<string> {
  return new Set(refused.map(([field]) => field));
}

/** The fields with empty lists and maps in the place of some. */
export function emptied(fields: Fields, some: ReadonlySet<string>): Fields {
  const empty = (value: unknown): unknown => {
    if (sizeOf(value) === 0) return value;
    return Array.isArray(value) ? [] : {};
  };
  return Object.fromEntries(
    Object.entries(fields).map(([field, value]) => [field, some.has(field) ? empty(value) : value]),
  );
}

function whyNotLong(value: object, schema: z.ZodType, upTo: number): string | null {
  // Entries of our fields are texts, numbers and pairs.
  if (Object.values(value).some((entry) => sizeOf(entry) > PORTION))
    return `has an entry with more than ${PORTION} entries`;
  const length = sizeOf(value);
  if (length <= PORTION) return null;
  const take = portionsOf(value);
  for (let start = 0; start < upTo; start += PORTION) {
    const { error } = check(schema, take(start));
    if (error === undefined) continue;
    const told = explain(error.issues).map(({ path, message }) => pathPrefix(shifted(path, start)) + message);
    const rest = length - start - PORTION;
    return inOneSentence(told) + (rest > 0 ? `; ${rest} more were not checked` : '');
  }
  return null;
}

/** Cuts a portion out of a list or map, from an entry on. */
function portionsOf(value: object): (start: number) => unknown {
  if (Array.isArray(value)) return (start) => value.slice(start, start + PORTION);
  const keys = Object.keys(value);
  return (start) =>
    Object.fromEntries(keys.slice(start, start + PORTION).map((key) => [key, (value as Fields)[key]]));
}

function sizeOf(value: unknown): number {
  if (typeof value !== 'object' || value === null) return 0;
  return Array.isArray(value) ? value.length : Object.keys(value).length;
}

/** The bytes that a value takes at least in a file: a text its own, and each entry one that sets it off. */
function leastBytes(value: unknown): number {
  if (typeof value === 'string') return Buffer.byteLength(value);
  if (typeof value !== 'object' || value === null) return 1;
  if (Array.isArray(value)) return value.reduce((sum: number, item) => sum + leastBytes(item) + 1, 0);
  const map = value as Fields;
  return Object.keys(map).reduce((sum, key) => sum + Buffer.byteLength(key) + leastBytes(map[key]) + 1, 0);
}

/** The path of a problem in a portion as a path in the body; the name of the field does not matter. */
function shifted(path: readonly (string | number)[], by: number): (string | number)[] {
  const [first, ...rest] = path;
  return typeof first === 'number' ? [0, first + by, ...rest] : [0, ...path];
}
