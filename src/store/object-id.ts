import { HoldfastError } from '../errors.ts';

/** Makes the `_id` of something that comes into being at `at` (Unix milliseconds). */
export type NewOid = (at: number) => string;

const MAX_SECONDS = 0xff_ff_ff_ff;
const HIGHEST = (1n << 96n) - 1n;
const RANDOM_BYTES = 5;

/**
 * A generator of ids in the layout of a MongoDB ObjectId, as 24 hex digits: 4 bytes Unix seconds, 5 bytes random, 3
 * bytes counter.
 *
 * Each id is above the one before and above `highest`, the highest id that was ever made, by whomever (null: none).
 * Where the clock is not ahead of the last id, the next one is that id plus 1; so ids do not run ahead of the clock,
 * however many managers take turns.
 */
export function objectIds(random: (size: number) => Uint8Array, highest: string | null): NewOid {
  let last = highest ?? '0'.repeat(24);
  return (at) => {
    const seconds = Math.min(Math.floor(at / 1000), MAX_SECONDS);
    last = seconds > Number.parseInt(last.slice(0, 8), 16) ? first(seconds, random) : following(last);
    return last;
  };
}

/** The higher of two ids; null where there is none. */
export function higherOid(a: string | null, b: string | null): string | null {
  return a === null || (b !== null && b > a) ? b : a;
}

function first(seconds: number, random: (size: number) => Uint8Array): string {
  return `${hex(seconds, 8)}${Buffer.from(random(RANDOM_BYTES)).toString('hex')}000000`;
}

function following(id: string): string {
  const next = BigInt(`0x${id}`) + 1n;
  if (next > HIGHEST) throw new HoldfastError('internal', 'there are no more object ids');
  return hex(next, 24);
}

function hex(value: number | bigint, digits: number): string {
  return value.toString(16).padStart(digits, '0');
}
