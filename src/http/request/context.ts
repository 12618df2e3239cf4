import type { FastifyRequest } from 'fastify';
import type { Write, WriteContext } from '../../change/write.ts';
import type { OperationContext } from '../../store/objects/port.ts';
import { ifMatchIn } from '../conditions.ts';
import { reasonAndBase } from './write-options.ts';

/**
 * Returns who requests a write, why, and its conditions. A create has no object to match, so any `If-Match` fails, even `*`
 * (RFC 9110, 13.1.1).
 */
export function writeContext(request: FastifyRequest, op: Write['op']): WriteContext {
  const { user, id } = request;
  const isConditional = request.headers['if-match'] !== undefined;
  const ifMatch = op === 'create' && isConditional ? [] : ifMatchIn(request);
  return { user: user.name, email: user.email, requestId: id, ifMatch, ...reasonAndBase(request) };
}

/** Returns who requests an operation, why, and when. `now` is Unix milliseconds. */
export function operationContext(request: FastifyRequest, now: number): OperationContext {
  const { reason } = reasonAndBase(request);
  const why = reason === undefined ? {} : { reason };
  return { actor: request.user.name, requestId: request.id, at: now, ...why };
}
