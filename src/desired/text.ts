import * as z from 'zod';

/**
 * A string that survives the road through UTF-8 and back: no lone surrogates, which would become other
 * characters in a file, and no NUL, which neither YAML nor a container's environment can hold.
 */
export const Text = z.string().refine((text) => text.isWellFormed() && !text.includes('\0'), {
  error: 'must be Unicode text without NUL characters',
});
