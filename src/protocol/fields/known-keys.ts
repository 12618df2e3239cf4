import type * as z from 'zod';

/** Returns the message of a map with these keys about others. */
export function knownKeys(keys: readonly string[]): z.core.$ZodErrorMap {
  return ({ code }) =>
    code === 'unrecognized_keys' ? `is not a known field; known fields are ${keys.join(', ')}` : undefined;
}
