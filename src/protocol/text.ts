import * as z from 'zod';

/**
 * A string that a file can hold: without lone surrogates, which UTF-8 replaces with other characters, and without NUL, which
 * neither YAML nor the environment of a container can hold.
 */
export const Text = z.string().refine((text) => text.isWellFormed() && !text.includes('\0'), {
  error: 'must be Unicode text without NUL characters',
  abort: true,
});

/** NUL in a pattern. Most other languages read `\0` as the start of an octal number. */
export const NUL = String.raw`\x00`;

/** A `Text` without further rules. Its pattern, which is in schemas only, says what it must not contain. */
export const FreeText = Text.meta({ pattern: `^[^${NUL}]*$` });

/** The most characters of a reason. */
export const MAX_REASON = 2000;
