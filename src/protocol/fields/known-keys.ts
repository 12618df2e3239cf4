import type * as z from 'zod';

/** Returns the messages of a map with these keys. `hints` say what to do about others. */
export function knownKeys(
  keys: readonly string[],
  hints: Readonly<Record<string, string>> = {},
): z.core.$ZodErrorMap {
  return (issue) => {
    if (issue.code !== 'unrecognized_keys') return undefined;
    const hint = issue.keys.map((key) => hints[key]).find((text) => text !== undefined);
    return hint ?? `is not a known field; known fields are ${keys.join(', ')}`;
  };
}
