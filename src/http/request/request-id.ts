import { randomUUID } from 'node:crypto';

/** A caller's id that is harmless in logs and commits. */
export const REQUEST_ID = /^[\w.:-]{1,64}$/;

/** An id for a request that brings none. */
export function newRequestId(): string {
  return randomUUID();
}

/** A caller's id is taken over when it is harmless in logs and commits. */
export function requestId(request: { headers: Record<string, unknown> }): string {
  const given = request.headers['x-request-id'];
  return typeof given === 'string' && REQUEST_ID.test(given) ? given : newRequestId();
}
