import { randomBytes } from 'node:crypto';

/** A caller's id that is harmless in logs and commits. */
export const REQUEST_ID = /^[\w.:-]{1,64}$/;

/** Characters of a new id: 128 random bits. */
const LENGTH = 32;
/** How many ids are made at once. */
const BATCH = 128;

/**
 * Makes ids for requests that bring none: 32 hexadecimal digits, never the same twice. They are cut out of one text:
 * those of `randomUUID` are put together from twenty pieces, which each reply then has to join.
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

/** A caller's id is taken over when it is harmless in logs and commits; otherwise it is a new one. */
export function requestId(request: { headers: Record<string, unknown> }, newId: () => string): string {
  const given = request.headers['x-request-id'];
  return typeof given === 'string' && REQUEST_ID.test(given) ? given : newId();
}
