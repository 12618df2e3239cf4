import * as z from 'zod';

/** Longest time that a field can say: a day. */
const MOST = 86_400;
const RULE = 'must be a whole number of seconds';

/** A time in whole seconds, from 1 to a day. */
export const Seconds = z
  .int({
    error: ({ input }) =>
      RULE + (typeof input === 'string' ? ' without a unit, such as 90 for "1m30s"' : ', such as 30'),
  })
  .min(1, 'must be 1 second or more')
  .max(MOST, `must be ${MOST} seconds (a day) or less`);
