import type { FastifyError, FastifyInstance, FastifyReply, FastifyRequest } from 'fastify';
import { ChangesRefused } from '../change/refusals.ts';
import { type ErrorKind, factsOfFailure, HoldfastError, knownError, messageOf } from '../errors.ts';
import { createThrottle } from '../log/throttle.ts';
import { KINDS } from '../protocol/name.ts';
import { JSON_TYPE } from './json.ts';
import { loggedUrl } from './refusal-log.ts';
import { RequestRefused } from './request-refused.ts';

declare module 'fastify' {
  interface FastifyRequest {
    /** For the log: why the reply is 409, or 5xx to somebody without an account. Null for any other reply. */
    refusal: string | null;
  }
  interface FastifyInstance {
    logFailure: LogFailure;
  }
}

/** The HTTP status for each kind of error (docs/contract.md, 5.5). */
const STATUSES: Readonly<Record<ErrorKind, number>> = {
  invalid: 400,
  absent: 403,
  present: 403,
  'moved-on': 412,
  conflict: 409,
  refused: 409,
  unavailable: 503,
  internal: 500,
};

/** A reply to an error: its status and its JSON body. */
interface ErrorReply {
  status: number;
  body: Record<string, unknown>;
}

/**
 * Returns the reply to an error. Details that are members of the contract are the whole body; any other body has an `error` text.
 * An internal error is reported with the id of the request instead of the cause.
 */
function errorReply(error: unknown, requestId: string): ErrorReply {
  if (error instanceof ChangesRefused) return changesReply(error, requestId);
  if (error instanceof RequestRefused) return { status: error.status, body: error.body };
  const known = knownError(error);
  if (known === null) return frameworkReply(error as FastifyError, requestId);
  if (known.kind === 'internal') return internal(requestId);
  if (known.kind === 'absent' || known.kind === 'present') return existenceReply(known);
  const status = STATUSES[known.kind];
  if (known.kind === 'invalid' && known.details.invalid_parameters !== undefined)
    return { status, body: known.details };
  const id = status >= 500 ? { request_id: requestId } : {};
  return { status, body: { error: known.message, ...known.details, ...id } };
}

/** Returns the reply about an object that does not exist, or whose name is taken (docs/contract.md, 5.4). */
function existenceReply(error: HoldfastError<'absent'> | HoldfastError<'present'>): ErrorReply {
  const status = STATUSES[error.kind];
  if (error.kind === 'present') return { status, body: { [`${error.details.existing}_exists`]: true } };
  const { missing, ...rest } = error.details;
  const isObject = KINDS.some((kind) => kind === missing);
  return { status: isObject ? status : 404, body: { [`${missing}_exists`]: false, ...rest } };
}

/** Returns the reply to a refused set of changes: for each change that cannot be made, the body of its own error. */
function changesReply({ errors }: ChangesRefused, requestId: string): ErrorReply {
  const bodies = Array.from(errors, ([index, error]) => [index, errorReply(error, requestId).body] as const);
  return { status: 400, body: { changes: Object.fromEntries(bodies) } };
}

/** Returns the reply to an error of fastify. If it is about the request, its status is below 500, and clients get its text. */
function frameworkReply(error: FastifyError, requestId: string): ErrorReply {
  const status = error.statusCode ?? 500;
  return status < 500 ? { status, body: { error: error.message } } : internal(requestId);
}

function internal(requestId: string): ErrorReply {
  return { status: 500, body: { error: 'internal error', request_id: requestId } };
}

/** Makes every error of a route a reply, and logs those with status 500 and above. `now` returns Unix milliseconds. */
export function useErrorReplies(app: FastifyInstance, now: () => number): void {
  app.decorateRequest('refusal', null);
  app.decorate('logFailure', createRateLimitedLog(now, 'request failed'));
  app.setErrorHandler((error, request, reply) => sendError(error, request, reply));
}

/** Sends the reply to an error. Logs the error if the status is 500 or above, unless the client has no valid credentials. */
export function sendError(error: unknown, request: FastifyRequest, reply: FastifyReply): FastifyReply {
  const { status, body } = errorReply(error, request.id);
  if (status >= 500 && !isStranger(request)) request.server.logFailure(error, request, status);
  if (status >= 500 || status === STATUSES.conflict) request.refusal = messageOf(error);
  return sendBody(reply, status, body);
}

/** Whether a request came without valid credentials: the log only counts these, however they fail (`request-log.ts`). */
function isStranger({ user }: FastifyRequest): boolean {
  return user === null;
}

/** Bypasses the documented schema, which drops unknown keys, so that even a bad field named "__proto__" is reported. */
function sendBody(reply: FastifyReply, status: number, body: ErrorReply['body']): FastifyReply {
  return reply.code(status).type(JSON_TYPE).serializer(JSON.stringify).send(body);
}

/**
 * Returns the error handler of the endpoint that workers poll. Workers stop their containers on any JSON without `apps`,
 * so temporary failures are sent as plain text (docs/contract.md, 7.3). A `HoldfastError` without a cause is not
 * logged. `now` returns Unix milliseconds.
 */
export function plainTextErrorHandler(now: () => number): typeof sendError {
  const log = createRateLimitedLog(now, 'polls are failing');
  return (error, request, reply) => {
    const { status, body } = errorReply(error, request.id);
    if (status < 500) return sendError(error, request, reply);
    const isExpected = error instanceof HoldfastError && error.cause === undefined;
    if (!isExpected && !isStranger(request)) log(error, request, status);
    return reply.code(503).type('text/plain; charset=utf-8').send(`${body['error']}\n`);
  };
}

/**
 * Returns the error handler for reports. Its replies are the usual ones, but since devices report all the time, it logs
 * repeated failures less often. `now` returns Unix milliseconds.
 */
export function reportErrorHandler(now: () => number): typeof sendError {
  const log = createRateLimitedLog(now, 'reports are rejected');
  return (error, request, reply) => {
    const { status, body } = errorReply(error, request.id);
    if (status >= 500 && !isStranger(request)) log(error, request, status);
    return sendBody(reply, status, body);
  };
}

/** Logs the error of a request; see `createRateLimitedLog`. */
type LogFailure = (error: unknown, request: FastifyRequest, status: number) => void;

/**
 * Returns a function that logs an error, but each reason only once a minute, with the number of requests that it has failed
 * since: a full disk or an absent store can fail the requests of thousands of devices.
 */
function createRateLimitedLog(now: () => number, message: string): LogFailure {
  const throttle = createThrottle(now);
  return (error, request, status) => {
    // The cause has names that differ each time, such as that of the temporary file that git could not write.
    const refused = throttle.count(messageOf(error));
    if (refused === null) return;
    request.log.error({ ...factsOfFailure(error), status, url: loggedUrl(request), refused }, message);
  };
}
