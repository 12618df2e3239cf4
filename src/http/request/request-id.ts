import { randomBytes } from 'node:crypto';

/** Ids of clients that are harmless in logs and commits. */
export const REQUEST_ID = /^[\w.:-]{1,64}$/;

/** Characters of a generated id: 128 random bits. */
const LENGTH = 32;
/** How many ids are generated at once. */
const BATCH = 128;

/**
 * Returns a generator of ids for requests without one: 32 random hexadecimal digits. Ids are slices of one long string.
 * Those of `randomUUID` are concatenated from twenty pieces, and V8 would have to join them for each reply.
 */
export function createRequestIds(): () => string {
  let digits = '';
  let next = 0;
  return () => {
    if (next === digits.length) {
      digits = randomBytes((BATCH * LENGTH) / 2).toString('hex');
      next = 0;
    }
    const start = next;
    next += LENGTH;
    return digits.slice(start, next);
  };
}

/** Returns the id that the client sent if it is harmless in logs and commits, otherwise a generated one. */
export function requestId(request: { headers: Record<string, unknown> }, newId: () => string): string {
  const given = request.headers['x-request-id'];
  return typeof given === 'string' && REQUEST_ID.test(given) ? given : newId();
}
