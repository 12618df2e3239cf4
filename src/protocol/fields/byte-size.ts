import * as z from 'zod';

const SIZE = /^(\d{1,15}(?:\.\d{1,9})?)([bBkKmMgG])[bB]?$/;
/** As Compose, in powers of 1,024. */
const UNITS: Readonly<Record<string, number>> = { b: 1, k: 1024, m: 1024 ** 2, g: 1024 ** 3 };

const RULE = 'must be a size with a unit, such as "512m" or "1.5g" (b, k, m, g)';

/** Returns the number of bytes of a valid size, rounded down. */
export function parseByteSize(size: string): number {
  const [, amount, unit = 'b'] = SIZE.exec(size) ?? [];
  return Math.floor(Number(amount) * (UNITS[unit.toLowerCase()] ?? 1));
}

/** A size such as `512m`, of at least so many bytes; `least` is how users write that. */
export function ByteSize(least: string): z.ZodType<string> {
  const bytes = parseByteSize(least);
  return z
    .string({ error: ({ input }) => RULE + (typeof input === 'number' ? ', not a number' : '') })
    .regex(SIZE, {
      error: ({ input }) => RULE + hintFor(String(input)),
      abort: true,
    })
    .refine((size) => parseByteSize(size) >= bytes, { error: `must be ${least} or more` })
    .refine((size) => Number.isSafeInteger(parseByteSize(size)), { error: 'is too large' });
}

function hintFor(given: string): string {
  const [, amount, unit = ''] = /^([\d.]+)\s*([kmg])i?b?$/i.exec(given) ?? [];
  return amount === undefined ? '' : `; write "${amount}${unit.toLowerCase()}"`;
}
