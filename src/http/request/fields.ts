import type { FastifyRequest } from 'fastify';
import type * as z from 'zod';
import { check, explain } from '../../desired/explain.ts';
import { HoldfastError } from '../../errors.ts';
import { type Fields, isMapValue } from '../../protocol/values.ts';
import { RequestRefused } from '../request-refused.ts';
import { bodyOf, type FieldError } from './body.ts';
import { inOneSentence, pathPrefix } from './reasons.ts';

/** How many unknown fields are reported. */
const MAX_UNKNOWN = 100;
/** How many entries the value of a field has at most. A body has room for half a million, and each bad one takes long to explain. */
const MAX_ENTRIES = 20_000;

/** How a body is read: its schema, the fields that are ignored, and the required fields. */
export interface BodyRule {
  schema: z.ZodObject;
  ignored: readonly string[];
  /** Null for a partial update, which needs at least one field, but none in particular; if empty, no body is one without fields. */
  required: readonly string[] | null;
}

/**
 * Reads a body that is an object with fields. Throws a 400 that names every missing and every bad field
 * (docs/contract.md, 5.4).
 */
export function readFields(request: FastifyRequest, rule: BodyRule): Fields {
  const required = rule.required ?? [];
  const body = required.length === 0 ? partialFields(request) : wholeFields(request, required);
  return checkFields(body, rule);
}

/** Reads such an object that is a part of a body, undefined if it is not there. Throws as `readFields` does. */
export function readFieldsOf(value: unknown, rule: BodyRule): Fields {
  if (isMapValue(value)) return checkFields({ fields: value, unsafe: [] }, rule);
  if (value === undefined && rule.required?.length === 0) return readFieldsOf({}, rule);
  if (rule.required !== null && rule.required.length > 0) throw fieldsMissing(rule.required);
  if (value === undefined) throw noFields(Object.keys(rule.schema.shape));
  throw badFields([], [], [['fields', 'must be a JSON object']]);
}

function checkFields(body: GivenFields, rule: BodyRule): Fields {
  const unsafe = body.unsafe.filter(([field]) => !rule.ignored.includes(field));
  const known = Object.keys(rule.schema.shape);
  const fields = emptied(relevantFields(body.fields, known, rule.ignored), unsafe);
  if (rule.required === null && Object.keys(fields).length === 0) throw noFields(known);
  const errors = tooLong(fields);
  const parsed = check(rule.schema, emptied(fields, errors));
  if (!parsed.success || unsafe.length + errors.length > 0)
    throw badFields(parsed.error?.issues ?? [], known, [...errors, ...unsafe]);
  return parsed.data;
}

function tooLong(fields: Fields): FieldError[] {
  return Object.keys(fields)
    .filter((field) => countEntries(fields[field]) > MAX_ENTRIES)
    .map((field) => [field, `has more than ${MAX_ENTRIES} entries`]);
}

/** Counts the entries of a list or map, and all that are nested in them. */
function countEntries(value: unknown): number {
  if (typeof value !== 'object' || value === null) return 0;
  const entries: unknown[] = Array.isArray(value) ? value : Object.values(value);
  return entries.reduce((sum: number, entry) => sum + 1 + countEntries(entry), 0);
}

/** Returns the fields, with empty lists and maps in place of the bad ones, whose values must not be checked any further. */
function emptied(fields: Fields, errors: readonly FieldError[]): Fields {
  const bad = new Set(errors.map(([field]) => field));
  const empty = (value: unknown): unknown => {
    if (typeof value !== 'object' || value === null) return value;
    return Array.isArray(value) ? [] : {};
  };
  return Object.fromEntries(
    Object.entries(fields).map(([field, value]) => [field, bad.has(field) ? empty(value) : value]),
  );
}

/** The fields of a body, before they are checked. */
interface GivenFields {
  fields: Fields;
  unsafe: readonly FieldError[];
}

/** Treats any body that is not an object as one without fields. */
function wholeFields(request: FastifyRequest, required: readonly string[]): GivenFields {
  const body = bodyOf(request);
  if (body.state === 'json' && isMapValue(body.value)) return { ...body, fields: body.value };
  throw fieldsMissing(required);
}

function fieldsMissing(required: readonly string[]): RequestRefused {
  return new RequestRefused(400, 'fields are missing', { missing_parameters: required });
}

function partialFields(request: FastifyRequest): GivenFields {
  const body = bodyOf(request);
  if (body.state === 'absent') return { fields: {}, unsafe: [] };
  if (body.state === 'malformed') throw notJson(body.why);
  if (isMapValue(body.value)) return { ...body, fields: body.value };
  throw new HoldfastError('invalid', 'the body must be a JSON object');
}

function notJson(why: string): HoldfastError {
  return new HoldfastError('invalid', `the body is not JSON: ${why}`);
}

function noFields(known: readonly string[]): RequestRefused {
  const sentence = `Send at least one of these parameters: ${known.join(', ')}.`;
  return new RequestRefused(400, sentence, { missing_parameters: sentence });
}

/** Returns the fields without the ignored ones, and with at most `MAX_UNKNOWN` unknown ones. */
function relevantFields(fields: Fields, known: readonly string[], ignored: readonly string[]): Fields {
  const relevant: [field: string, value: unknown][] = [];
  let unknown = 0;
  for (const field of Object.keys(fields)) {
    if (ignored.includes(field)) continue;
    if (!known.includes(field) && ++unknown > MAX_UNKNOWN) continue;
    relevant.push([field, fields[field]]);
  }
  return Object.fromEntries(relevant);
}

/**
 * Returns the 400 for the problems of a body or query, by field. The issues of one field are joined into one sentence. An
 * error in `errors` replaces the issues of its field.
 */
export function badFields(
  issues: readonly z.core.$ZodIssue[],
  known: readonly string[],
  errors: readonly FieldError[] = [],
): RequestRefused {
  const missing: string[] = [];
  const invalid = new Map<string, string[]>();
  for (const { path, kind, message } of explain(issues, known)) {
    const field = String(path[0] ?? '');
    if (kind === 'missing') missing.push(field);
    else {
      const reasons = invalid.get(field) ?? [];
      reasons.push(pathPrefix(path) + message);
      invalid.set(field, reasons);
    }
  }
  for (const [field, why] of errors) invalid.set(field, [why]);
  const body = {
    ...(missing.length > 0 ? { missing_parameters: missing } : {}),
    ...(invalid.size > 0 ? { invalid_parameters: joinReasons(invalid) } : {}),
  };
  return new RequestRefused(400, 'invalid parameters', body);
}

function joinReasons(reasons: ReadonlyMap<string, string[]>): Record<string, string> {
  return Object.fromEntries(Array.from(reasons, ([field, messages]) => [field, inOneSentence(messages)]));
}

/** Reads a body that can be any JSON value. Throws a 400 if there is no body, or if it is not acceptable JSON. */
export function readJson(request: FastifyRequest): unknown {
  const body = bodyOf(request);
  if (body.state === 'absent') throw new HoldfastError('invalid', 'the body is missing; send JSON');
  if (body.state === 'malformed') throw notJson(body.why);
  if (body.unsafe.length > 0) throw badFields([], [], body.unsafe);
  return body.value;
}

/** Returns a field of the body, before the body is checked, if it is a list of strings; otherwise an empty list. */
export function listIn(request: FastifyRequest, field: string): string[] {
  const body = bodyOf(request);
  if (body.state !== 'json' || !isMapValue(body.value)) return [];
  const list = body.value[field];
  return Array.isArray(list) && list.every((item) => typeof item === 'string') ? list : [];
}
