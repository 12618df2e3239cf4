import { HoldfastError } from '../errors.ts';

/** Returns a new `_id` for an object or report of this time (Unix milliseconds). */
export type NewOid = (at: number) => string;

const MAX_SECONDS = 0xff_ff_ff_ff;
const HIGHEST = (1n << 96n) - 1n;
const RANDOM_BYTES = 5;

/**
 * Returns a generator of ids in the layout of a MongoDB ObjectId, as 24 hex digits: 4 bytes Unix seconds, 5 random
 * bytes, 3 bytes counter.
 *
 * Each id is higher than the one before, and than `highest`, the highest id that any manager has made (null: none). If
 * the time is not later than that of the last id, the next id is the last plus 1. So ids do not run ahead of the clock,
 * even if several managers make them alternately.
 */
export function oidGenerator(random: (size: number) => Uint8Array, highest: string | null): NewOid {
  let last = highest ?? '0'.repeat(24);
  return (at) => {
    const seconds = Math.min(Math.floor(at / 1000), MAX_SECONDS);
    last = seconds > Number.parseInt(last.slice(0, 8), 16) ? firstOf(seconds, random) : following(last);
    return last;
  };
}

function firstOf(seconds: number, random: (size: number) => Uint8Array): string {
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
