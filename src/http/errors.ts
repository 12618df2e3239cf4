import type { FastifyError, FastifyInstance, FastifyReply, FastifyRequest } from 'fastify';
import { type ErrorKind, HoldfastError, messageOf } from '../errors.ts';
import { JSON_TYPE } from './json.ts';

declare module 'fastify' {
  interface FastifyRequest {
    /** Why the repository does not allow what was asked for (409), for the log; null otherwise. */
    refusal: string | null;
  }
}

/** The one table from kinds to HTTP statuses. */
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

/** Facts that decisions.md gives as the whole body. */
const SPEAKING_FACTS = ['access_allowed', 'missing_parameters', 'invalid_parameters'];

/** A reply to an error: its status and its JSON body. */
interface ErrorReply {
  status: number;
  body: Record<string, unknown>;
}

/**
 * What a client learns of an error: facts that the contract names stand alone, everything else has a sentence. An
 * internal error has the request's id instead of its cause.
 */
function errorReply(error: unknown, requestId: string): ErrorReply {
  if (!(error instanceof HoldfastError)) return frameworkReply(error as FastifyError, requestId);
  const { status = STATUSES[error.kind], ...details } = error.details as { status?: number };
  if (error.kind === 'absent' || error.kind === 'present') return { status, body: details };
  if (SPEAKING_FACTS.some((fact) => fact in details)) return { status, body: details };
  if (status === 500) return internal(requestId);
  const inside = status >= 500 ? { request_id: requestId } : {};
  return { status, body: { error: error.message, ...details, ...inside } };
}

/** Errors of fastify about the request itself have a status below 500 and a text of their own. */
function frameworkReply(error: FastifyError, requestId: string): ErrorReply {
  const status = error.statusCode ?? 500;
  return status < 500 ? { status, body: { error: error.message } } : internal(requestId);
}

function internal(requestId: string): ErrorReply {
  return { status: 500, body: { error: 'internal error', request_id: requestId } };
}

/** Maps every error of every route to its reply, and logs internal errors with their cause. */
export function useErrorReplies(app: FastifyInstance): void {
  app.decorateRequest('refusal', null);
  app.setErrorHandler((error, request, reply) => sendError(error, request, reply));
}

export function sendError(error: unknown, request: FastifyRequest, reply: FastifyReply): FastifyReply {
  const { status, body } = errorReply(error, request.id);
  if (status >= 500) request.log.error({ err: error, status }, 'request failed');
  if (status === STATUSES.conflict) request.refusal = messageOf(error);
  return sendBody(reply, status, body);
}

/**
 * Sends it without the documented schema, which drops unknown keys: a bad field called "__proto__" is reported, too.
 */
function sendBody(reply: FastifyReply, status: number, body: ErrorReply['body']): FastifyReply {
  return reply.code(status).type(JSON_TYPE).serializer(JSON.stringify).send(body);
}

/**
 * For what workers poll: at any JSON without `apps` they stop their containers, so a temporary failure is plain text
 * (decisions, "Everything else"). A refusal without a cause is not logged. `now` is Unix milliseconds.
 */
export function faultsAsText(now: () => number): typeof sendError {
  const tell = nowAndThen(now, 'polls are failing');
  return (error, request, reply) => {
    const { status, body } = errorReply(error, request.id);
    if (status < 500) return sendError(error, request, reply);
    if (!(error instanceof HoldfastError) || error.cause !== undefined) tell(error, request);
    return reply.code(503).type('text/plain; charset=utf-8').send(`${body['error']}\n`);
  };
}

/**
 * For reports, which devices send all the time: errors as everywhere, but with fewer lines in the log. `now` is Unix
 * milliseconds.
 */
export function faultsOfReports(now: () => number): typeof sendError {
  const tell = nowAndThen(now, 'reports are rejected');
  return (error, request, reply) => {
    const { status, body } = errorReply(error, request.id);
    if (status >= 500) tell(error, request);
    return sendBody(reply, status, body);
  };
}

/** Milliseconds between two lines about requests that are refused for the same cause. */
const QUIET = 60_000;
const MOST_CAUSES = 100;

/** Logs a cause once in a while, with how many requests were refused for it since: thousands of devices ask. */
function nowAndThen(now: () => number, message: string): (error: unknown, request: FastifyRequest) => void {
  const causes = new Map<string, { toldAt: number; refused: number }>();
  return (error, { log: logger, url }) => {
    const cause = messageOf(error instanceof HoldfastError ? (error.cause ?? error) : error);
    const { toldAt, refused } = causes.get(cause) ?? { toldAt: Number.NEGATIVE_INFINITY, refused: 0 };
    if (causes.size >= MOST_CAUSES) causes.clear();
    const isDue = Math.abs(now() - toldAt) >= QUIET;
    if (isDue) logger.error({ err: error, url, refused: refused + 1 }, message);
    causes.set(cause, isDue ? { toldAt: now(), refused: 0 } : { toldAt, refused: refused + 1 });
  };
}
