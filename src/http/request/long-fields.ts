import type * as z from 'zod';
import { check, explain } from '../../desired/explain.ts';
import type { Fields } from '../../desired/values.ts';
import { MAX_FILE_BYTES } from '../../desired/yaml/document.ts';
import type { Refusal } from './body.ts';
import { inOneSentence, pathPrefix } from './reasons.ts';

/** How many entries of a field are checked at once. A body has room for half a million, and each bad one takes long. */
const PORTION = 1000;

/** Fields of a body whose long values are replaced if they need no further check. */
interface Shortened {
  /** The fields, with empty lists and maps in place of long values that are bad or too large for a file. */
  short: Fields;
  /** The long fields that are bad, each with its first problems; the search stops there. */
  bad: Refusal[];
  /** Whether the fields are too large for a file. If so, only the first entries of long fields have been checked. */
  isTooLarge: boolean;
}

/** Checks the long fields of a body, in portions, and empties those that need no further check. `bytes` is its size. */
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

/** Returns the names of the refused fields. */
export function fieldsOf(refused: readonly Refusal[]): Set<string> {
  return new Set(refused.map(([field]) => field));
}

/** Returns the fields, with empty lists and maps in place of the values of `some`. */
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
  // The entries of valid fields are texts, numbers and pairs.
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

/** Returns a function that cuts out the portion of a list or map that starts at an index. */
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

/** Returns the least number of bytes that a value takes in a file: those of its texts, and a separator for each entry. */
function leastBytes(value: unknown): number {
  if (typeof value === 'string') return Buffer.byteLength(value);
  if (typeof value !== 'object' || value === null) return 1;
  if (Array.isArray(value)) return value.reduce((sum: number, item) => sum + leastBytes(item) + 1, 0);
  const map = value as Fields;
  return Object.keys(map).reduce((sum, key) => sum + Buffer.byteLength(key) + leastBytes(map[key]) + 1, 0);
}

/** Converts the path of a problem within a portion to a path in the body, whose first element, the field, is not used. */
function shifted(path: readonly (string | number)[], by: number): (string | number)[] {
  const [first, ...rest] = path;
  return typeof first === 'number' ? [0, first + by, ...rest] : [0, ...path];
}
