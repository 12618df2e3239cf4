import type * as z from 'zod';
import { check, explain } from '../../desired/explain.ts';
import { MAX_FILE_BYTES } from '../../desired/yaml/document.ts';
import type { Fields } from '../../protocol/values.ts';
import type { FieldError } from './body.ts';
import { inOneSentence, pathPrefix } from './reasons.ts';

/** How many entries of a field are checked at once. A body has room for half a million, and each bad one takes long. */
const PORTION = 1000;

/** Fields of a body after the check of long ones. */
interface ShortenedFields {
  /** All fields, with empty lists and maps in place of long values that are bad or too large for a file. */
  shortened: Fields;
  /** The bad long fields, each with the problems of the first portion that has any. */
  errors: FieldError[];
  /** Whether the fields are too large for a file. If so, only the first entries of long fields have been checked. */
  isTooLarge: boolean;
}

/** Checks the long fields of a body, in portions, and empties those that need no further check. `bytes` is its size. */
export function shortenLongFields(
  fields: Fields,
  bytes: number,
  shape: Readonly<Record<string, z.ZodType>>,
): ShortenedFields {
  const isTooLarge = bytes > MAX_FILE_BYTES && minBytes(fields) > MAX_FILE_BYTES;
  const errors = Object.entries(fields).flatMap(([field, value]): FieldError[] => {
    const schema = Object.hasOwn(shape, field) ? shape[field] : undefined;
    if (schema === undefined || typeof value !== 'object' || value === null) return [];
    const why = whyBad(value, schema, isTooLarge ? PORTION : sizeOf(value));
    return why === null ? [] : [[field, why]];
  });
  const long = Object.keys(fields).filter((field) => sizeOf(fields[field]) > PORTION);
  const shortened = emptied(fields, new Set([...namesOf(errors), ...(isTooLarge ? long : [])]));
  return { shortened, errors, isTooLarge };
}

/** Returns the names of the fields with errors. */
export function namesOf(errors: readonly FieldError[]): Set<string> {
  return new Set(errors.map(([field]) => field));
}

/** Returns the fields, with empty lists and maps in place of the values of those in `names`. */
export function emptied(fields: Fields, names: ReadonlySet<string>): Fields {
  const empty = (value: unknown): unknown => {
    if (sizeOf(value) === 0) return value;
    return Array.isArray(value) ? [] : {};
  };
  return Object.fromEntries(
    Object.entries(fields).map(([field, value]) => [field, names.has(field) ? empty(value) : value]),
  );
}

/**
 * Returns why a list or map is bad: an entry of it is itself long, or it is long and has problems among its first `upTo`
 * entries. Null leaves all else to the usual check.
 */
function whyBad(value: object, schema: z.ZodType, upTo: number): string | null {
  // The entries of valid fields are texts, numbers and pairs.
  if (Object.values(value).some((entry) => sizeOf(entry) > PORTION))
    return `has an entry with more than ${PORTION} entries`;
  const length = sizeOf(value);
  if (length <= PORTION) return null;
  const portionFrom = portionsOf(value);
  for (let start = 0; start < upTo; start += PORTION) {
    const { error } = check(schema, portionFrom(start));
    if (error === undefined) continue;
    const reasons = explain(error.issues).map(
      ({ path, message }) => pathPrefix(shifted(path, start)) + message,
    );
    const rest = length - start - PORTION;
    return inOneSentence(reasons) + (rest > 0 ? `; ${rest} more were not checked` : '');
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
function minBytes(value: unknown): number {
  if (typeof value === 'string') return Buffer.byteLength(value);
  if (typeof value !== 'object' || value === null) return 1;
  if (Array.isArray(value)) return value.reduce((sum: number, item) => sum + minBytes(item) + 1, 0);
  const map = value as Fields;
  return Object.keys(map).reduce((sum, key) => sum + Buffer.byteLength(key) + minBytes(map[key]) + 1, 0);
}

/** Converts the path of a problem within a portion to a path in the body, whose first element, the field, is not used. */
function shifted(path: readonly (string | number)[], by: number): (string | number)[] {
  const [first, ...rest] = path;
  return typeof first === 'number' ? [0, first + by, ...rest] : [0, ...path];
}
