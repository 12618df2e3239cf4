import type { IncomingMessage } from 'node:http';
import type { FastifyInstance, FastifyRequest } from 'fastify';
import type * as z from 'zod';
import { explain } from '../desired/explain.ts';
import { HoldfastError } from '../errors.ts';

/** Deepest nesting of a body; ours need five levels. */
const MAX_DEPTH = 32;
/** Problems of one field that are told; more of them tell no more. */
const MAX_REASONS = 20;
const NOT_JSON = 'the body is not JSON';
const FORBIDDEN_KEYS = new Set(['__proto__', 'constructor', 'prototype']);

/** A request's body before anybody asked for it: what is wrong with it is told only when its turn comes. */
type Body =
  | { state: 'absent' }
  | { state: 'malformed' }
  /** Not looked at: too large, or not JSON. */
  | { state: 'refused'; refusal: HoldfastError }
  /** `refused`: the fields (or items) that are not looked at further, each with the reason. */
  | { state: 'json'; value: unknown; refused: readonly Refusal[] };

type Refusal = readonly [field: string, why: string];

/** What the parser leaves in `request.body`; replies about it follow the order of decisions.md. */
class ParsedBody {
  readonly body: Body;

  constructor(body: Body) {
    this.body = body;
  }
}

/** Fastify sees one of these two for any type: it refuses types that it cannot parse, even where there is no body. */
const JSON_TYPE = 'application/json';
const OTHER_TYPE = 'application/octet-stream';

/**
 * Bodies are JSON or nothing: an empty one is fine whatever the headers say, since existing clients send
 * `Content-Type: application/json` without a body. What is refused (any other type, or more than `limit` bytes) is only
 * noted here: other faults are told first (see `refused-body.ts`).
 */
export function useJsonBodies(app: FastifyInstance, limit: number): void {
  app.addHook('onRequest', async ({ raw: { headers } }) => {
    const type = headers['content-type'];
    if (type !== undefined) headers['content-type'] = isJson(type) ? JSON_TYPE : OTHER_TYPE;
  });
  app.removeAllContentTypeParsers();
  app.addContentTypeParser('*', async (request: FastifyRequest, payload: IncomingMessage) => {
    const chunks: Buffer[] = [];
    const isWhole = await readChunks(payload, limit, (chunk) => chunks.push(chunk));
    if (isWhole) return new ParsedBody(readBytes(request, Buffer.concat(chunks)));
    return new ParsedBody({ state: 'refused', refusal: tooLarge(limit) });
  });
}

/** JSON is UTF-8 (RFC 8259, 8.1); of other parameters it has none, so those that clients add say nothing. */
function isJson(type: string): boolean {
  const [essence, ...parameters] = type.split(';').map((part) => part.trim().toLowerCase());
  return essence === JSON_TYPE && !parameters.some((one) => /^charset=(?!"?utf-?8"?$)/.test(one));
}

/**
 * Hands over a body as it arrives. Resolves to whether that was all of it; no more is read of one of more than `limit`
 * bytes. Rejects with the 400 of a body that breaks off.
 */
export function readChunks(
  payload: IncomingMessage,
  limit: number,
  take: (chunk: Buffer) => void,
): Promise<boolean> {
  if (Number(payload.headers['content-length']) > limit) return Promise.resolve(false);
  return new Promise((resolve, reject) => {
    let length = 0;
    const onData = (chunk: Buffer): void => {
      length += chunk.length;
      if (length > limit) end(() => resolve(false));
      else take(chunk);
    };
    const onEnd = (): void => end(() => resolve(true));
    const onError = (error: Error): void => end(() => reject(Object.assign(error, { statusCode: 400 })));
    const end = (settle: () => void): void => {
      payload.off('data', onData).off('end', onEnd).off('error', onError);
      settle();
    };
    payload.on('data', onData).on('end', onEnd).on('error', onError).resume();
  });
}

/** The 413 of a body of more than `limit` bytes. */
export function tooLarge(limit: number): HoldfastError {
  return new HoldfastError('invalid', `the body is larger than ${limit} bytes`, { status: 413 });
}

function readBytes({ headers }: FastifyRequest, bytes: Buffer): Body {
  const why = bytes.length === 0 ? null : whyNotJson(headers);
  if (why === null) return parseBytes(bytes);
  return { state: 'refused', refusal: new HoldfastError('invalid', why, { status: 415 }) };
}

function whyNotJson(headers: FastifyRequest['headers']): string | null {
  const encoding = headers['content-encoding'];
  if (encoding !== undefined) return `send JSON as it is: Content-Encoding ${encoding} is not taken`;
  return headers['content-type'] === OTHER_TYPE ? 'send JSON with Content-Type: application/json' : null;
}

/** What a body is refused for whatever it says; null where it can be read. */
export function bodyRefusal(request: FastifyRequest): HoldfastError | null {
  const body = bodyOf(request);
  return body.state === 'refused' ? body.refusal : null;
}

function parseBytes(bytes: Buffer): Body {
  if (bytes.length === 0) return { state: 'absent' };
  let value: unknown;
  try {
    value = JSON.parse(new TextDecoder('utf-8', { fatal: true }).decode(bytes));
  } catch {
    return { state: 'malformed' };
  }
  return { state: 'json', value, refused: refusals(value) };
}

function refusals(value: unknown): Refusal[] {
  if (typeof value !== 'object' || value === null) return [];
  return Object.entries(value).flatMap(([field, item]): Refusal[] => {
    const why = FORBIDDEN_KEYS.has(field) ? `"${field}" cannot be a key` : refusal(item);
    return why === null ? [] : [[field, why]];
  });
}

/** Why a field's value is not looked at further; null where nothing speaks against it. */
function refusal(value: unknown, depth = 1): string | null {
  if (typeof value !== 'object' || value === null) return null;
  if (depth > MAX_DEPTH) return `is nested more than ${MAX_DEPTH} levels deep`;
  for (const [key, item] of Object.entries(value)) {
    const why = FORBIDDEN_KEYS.has(key) ? `must not have "${key}" as a key` : refusal(item, depth + 1);
    if (why !== null) return why;
  }
  return null;
}

/** The body, which was not refused: that is told before any route looks at it. */
function bodyOf(request: FastifyRequest): Body {
  return request.body instanceof ParsedBody ? request.body.body : { state: 'absent' };
}

/** How a body is read: its schema, the fields it may hold but that are ignored, and how missing ones are told. */
export interface BodyRule<T> {
  schema: z.ZodType<T>;
  known: readonly string[];
  ignored: readonly string[];
  /** Names of the fields that must be there; null for a partial update, which needs any field at all. */
  required: readonly string[] | null;
}

/**
 * Reads a body that is an object of fields. Throws the 400 of decisions.md, "Apps" and "Device groups": every
 * missing and every bad field at once.
 */
export function readFields<T>(request: FastifyRequest, rule: BodyRule<T>): T {
  const { fields, refused } =
    rule.required === null ? partialFields(request) : wholeFields(request, rule.required);
  const isOwn = ([field]: readonly [string, unknown]): boolean => !rule.ignored.includes(field);
  const own = Object.fromEntries(Object.entries(fields).filter(isOwn));
  if (rule.required === null && Object.keys(own).length === 0) throw noFields(rule.known);
  const parsed = rule.schema.safeParse(own, { reportInput: true });
  const refusedOwn = refused.filter(isOwn);
  if (parsed.success && refusedOwn.length === 0) return parsed.data;
  throw badFields(parsed.error?.issues ?? [], rule.known, refusedOwn);
}

interface Fields {
  fields: object;
  refused: readonly Refusal[];
}

/** Whatever is not an object at all counts as one without fields. */
function wholeFields(request: FastifyRequest, required: readonly string[]): Fields {
  const body = bodyOf(request);
  if (body.state === 'json' && isObject(body.value)) return { fields: body.value, refused: body.refused };
  throw new HoldfastError('invalid', 'fields are missing', { missing_parameters: required });
}

function partialFields(request: FastifyRequest): Fields {
  const body = bodyOf(request);
  if (body.state === 'absent') return { fields: {}, refused: [] };
  if (body.state !== 'json') throw new HoldfastError('invalid', NOT_JSON);
  if (isObject(body.value)) return { fields: body.value, refused: body.refused };
  throw new HoldfastError('invalid', 'the body must be a JSON object');
}

function noFields(known: readonly string[]): HoldfastError {
  const sentence = `Send at least one of these parameters: ${known.join(', ')}.`;
  return new HoldfastError('invalid', sentence, { missing_parameters: sentence });
}

/**
 * The problems of a value by field: the first ones of a field in one sentence, except that a refusal stands alone. A body
 * can have half a million problems in one field; all of them would be a reply that takes minutes to make.
 */
export function badFields(
  issues: readonly z.core.$ZodIssue[],
  known: readonly string[],
  refused: readonly Refusal[] = [],
): HoldfastError {
  const missing: string[] = [];
  const invalid = new Map<string, string[]>();
  for (const { path, kind, message } of explain(issues, known)) {
    const field = String(path[0] ?? '');
    if (kind === 'missing') missing.push(field);
    else {
      const reasons = invalid.get(field) ?? [];
      reasons.push(within(path) + message);
      invalid.set(field, reasons);
    }
  }
  for (const [field, why] of refused) invalid.set(field, [why]);
  const details = {
    ...(missing.length > 0 ? { missing_parameters: missing } : {}),
    ...(invalid.size > 0 ? { invalid_parameters: joinReasons(invalid) } : {}),
  };
  return new HoldfastError('invalid', 'the parameters are not acceptable', details);
}

function joinReasons(reasons: ReadonlyMap<string, string[]>): Record<string, string> {
  return Object.fromEntries(Array.from(reasons, ([field, messages]) => [field, inOneSentence(messages)]));
}

function inOneSentence(messages: readonly string[]): string {
  const told = messages.slice(0, MAX_REASONS);
  const more = messages.length - told.length;
  return (more > 0 ? [...told, `and ${more} more`] : told).join('; ');
}

function within(path: readonly (string | number)[]): string {
  const rest = path.slice(1).join('.');
  return rest === '' ? '' : `${rest} `;
}

/** Reads a body that is any JSON value; throws a 400 where there is none. */
export function readJson(request: FastifyRequest): unknown {
  const body = bodyOf(request);
  if (body.state !== 'json') throw new HoldfastError('invalid', NOT_JSON);
  if (body.refused.length > 0) throw badFields([], [], body.refused);
  return body.value;
}

function isObject(value: unknown): value is object {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}

/** The strings of a list in the body, before the body is checked; none where there is no such list of strings. */
export function listIn(request: FastifyRequest, field: string): string[] {
  const body = bodyOf(request);
  if (body.state !== 'json' || !isObject(body.value)) return [];
  const list = (body.value as Record<string, unknown>)[field];
  return Array.isArray(list) && list.every((item) => typeof item === 'string') ? list : [];
}
