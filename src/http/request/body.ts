import type { IncomingMessage } from 'node:http';
import type { FastifyInstance, FastifyRequest } from 'fastify';
import { FORBIDDEN_KEYS } from '../../desired/yaml/document.ts';
import { type HoldfastError, messageOf } from '../../errors.ts';
import { type Fields, isMapValue } from '../../protocol/values.ts';
import { RequestRefused } from '../request-refused.ts';

/** How deep the values of a body may be nested. Valid bodies need five levels. */
const MAX_DEPTH = 32;
/** How many unsafe fields of an object, or items of a list, are reported. */
const MAX_UNSAFE_FIELDS = 100;
const MAX_UNSAFE_ITEMS = 20;

/** The body of a request as it was read. What is wrong with it is reported only after other errors (`checks.ts`). */
type Body =
  | { state: 'absent' }
  /** `why`: the message of the parser. */
  | { state: 'malformed'; why: string }
  /** Not read: too large, or not JSON. */
  | { state: 'refused'; refusal: HoldfastError }
  /** `unsafe`: the first fields (or items) that must not reach any check: nested too deeply, or with forbidden keys. */
  | { state: 'json'; value: unknown; bytes: number; unsafe: readonly FieldError[] };

/** A field (or the index of an item), and what is wrong with it. */
export type FieldError = readonly [field: string, why: string];

/** The value of `request.body`. It is a class because the webhook leaves other values there. */
class ParsedBody {
  readonly body: Body;

  constructor(body: Body) {
    this.body = body;
  }
}

/** Every content type is replaced by one of these two: fastify refuses types that it cannot parse, even without a body. */
const JSON_TYPE = 'application/json';
const OTHER_TYPE = 'application/octet-stream';

/**
 * Makes the server accept JSON bodies of at most `limit` bytes. An empty body is accepted with any headers, since existing
 * clients send `Content-Type: application/json` without a body. A body of another type, or a larger one, is only marked as
 * refused: other errors are reported first (`checks.ts`).
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

/** JSON must be UTF-8 (RFC 8259, 8.1). Its media type defines no parameters, so all but charset are ignored. */
function isJson(type: string): boolean {
  const [essence, ...parameters] = type.split(';').map((part) => part.trim().toLowerCase());
  return essence === JSON_TYPE && !parameters.some((parameter) => /^charset=(?!"?utf-?8"?$)/.test(parameter));
}

/** Bytes of a body that is too large which are nevertheless read: more than any webhook sends. */
const MAX_DISCARDED = 33_554_432;
/** Milliseconds without a byte after which the rest of a body that is too large is no longer awaited. */
const DISCARD_PATIENCE = 1000;

/**
 * Passes the chunks of a body to `take` as they arrive, up to `limit` bytes. Resolves to whether the body has no more;
 * rejects with a 400 if it breaks off. Also a body that is too large is read, since a proxy reads no reply before it has
 * sent all, and reports a connection that closes earlier as 502. But of a body that is much larger, or whose sender
 * waits for a reply, the rest is not read.
 */
export function readChunks(
  payload: IncomingMessage,
  limit: number,
  take: (chunk: Buffer) => void,
): Promise<boolean> {
  const declared = Number(payload.headers['content-length'] ?? 0);
  const most = Math.max(limit, MAX_DISCARDED);
  if (declared > most) return Promise.resolve(false);
  return new Promise((resolve, reject) => {
    let length = 0;
    let patience: NodeJS.Timeout | undefined;
    const isTooLarge = (): boolean => Math.max(length, declared) > limit;
    const giveUp = (): void => end(() => resolve(false));
    const onData = (chunk: Buffer): void => {
      length += chunk.length;
      if (length > most) giveUp();
      else if (!isTooLarge()) take(chunk);
      else patience = patience?.refresh() ?? setTimeout(giveUp, DISCARD_PATIENCE);
    };
    const onEnd = (): void => end(() => resolve(!isTooLarge()));
    const onError = (error: Error): void => end(() => reject(Object.assign(error, { statusCode: 400 })));
    const end = (settle: () => void): void => {
      clearTimeout(patience);
      payload.off('data', onData).off('end', onEnd).off('error', onError);
      settle();
    };
    if (isTooLarge()) patience = setTimeout(giveUp, DISCARD_PATIENCE);
    payload.on('data', onData).on('end', onEnd).on('error', onError).resume();
  });
}

/** Returns the 413 for a body of more than `limit` bytes. */
export function tooLarge(limit: number): RequestRefused {
  return new RequestRefused(413, `the body is larger than ${limit} bytes`);
}

function readBytes({ headers }: FastifyRequest, bytes: Buffer): Body {
  if (bytes.length === 0) return { state: 'absent' };
  const why = whyNotJson(headers);
  if (why === null) return parseBytes(bytes);
  return { state: 'refused', refusal: new RequestRefused(415, why) };
}

function whyNotJson(headers: FastifyRequest['headers']): string | null {
  const encoding = headers['content-encoding'];
  // Some clients send `identity`, which means no encoding (RFC 9110, 12.5.3).
  if (encoding !== undefined && encoding.toLowerCase() !== 'identity')
    return `Content-Encoding ${encoding} is not supported; send plain JSON`;
  return headers['content-type'] === OTHER_TYPE
    ? 'send JSON in UTF-8 with Content-Type: application/json'
    : null;
}

/** Returns the error of a body that is refused regardless of its content; null if the body can be read. */
export function bodyRefusal(request: FastifyRequest): HoldfastError | null {
  const body = parsed(request);
  return body.state === 'refused' ? body.refusal : null;
}

function parseBytes(bytes: Buffer): Body {
  let value: unknown;
  try {
    value = JSON.parse(new TextDecoder('utf-8', { fatal: true }).decode(bytes));
  } catch (error) {
    return { state: 'malformed', why: reasonOf(error) };
  }
  return { state: 'json', value, bytes: bytes.length, unsafe: findUnsafe(value) };
}

/** Returns the message of the parser, without the part of the body that it quotes, which can contain a secret. */
function reasonOf(error: unknown): string {
  return messageOf(error).replace(/, (?:\.{3})?".*/s, '');
}

/** Returns the first unsafe fields or items. A body has room for half a million, more than anyone would read. */
function findUnsafe(value: unknown): FieldError[] {
  if (Array.isArray(value))
    return firstErrors(value.keys(), (index) => whyUnsafe(value[index]), MAX_UNSAFE_ITEMS);
  if (!isMapValue(value)) return [];
  const why = (field: string): string | null =>
    FORBIDDEN_KEYS.has(field) ? `"${field}" cannot be a key` : whyUnsafe(value[field]);
  return firstErrors(Object.keys(value), why, MAX_UNSAFE_FIELDS);
}

function firstErrors<K>(keys: Iterable<K>, check: (key: K) => string | null, limit: number): FieldError[] {
  const errors: FieldError[] = [];
  for (const key of keys) {
    const why = check(key);
    if (why !== null && errors.push([String(key), why]) === limit) break;
  }
  return errors;
}

/** Returns why a value must not reach any check; null if it can. */
function whyUnsafe(value: unknown, depth = 1): string | null {
  if (typeof value !== 'object' || value === null) return null;
  if (depth > MAX_DEPTH) return `is nested more than ${MAX_DEPTH} levels deep`;
  return Array.isArray(value) ? whyListUnsafe(value, depth) : whyMapUnsafe(value as Fields, depth);
}

/** Separate from maps, because `Object.entries` of a long list takes many times as long as all the rest. */
function whyListUnsafe(list: readonly unknown[], depth: number): string | null {
  for (const item of list) {
    const why = whyUnsafe(item, depth + 1);
    if (why !== null) return why;
  }
  return null;
}

function whyMapUnsafe(map: Fields, depth: number): string | null {
  for (const key of Object.keys(map)) {
    const why = FORBIDDEN_KEYS.has(key) ? `must not have "${key}" as a key` : whyUnsafe(map[key], depth + 1);
    if (why !== null) return why;
  }
  return null;
}

/** Returns the body of a request. Throws its refusal, which the checks have thrown before a handler runs. */
export function bodyOf(request: FastifyRequest): Exclude<Body, { state: 'refused' }> {
  const body = parsed(request);
  if (body.state === 'refused') throw body.refusal;
  return body;
}

function parsed({ body }: FastifyRequest): Body {
  return body instanceof ParsedBody ? body.body : { state: 'absent' };
}
