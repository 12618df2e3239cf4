import { HoldfastError } from '../errors.ts';

/** Makes the next id for something that comes into being at `at` (Unix milliseconds). */
export type ObjectIds = (at: number) => string;

const MAX_SECONDS = 0xff_ff_ff_ff;
const MAX_COUNTER = 0xff_ff_ff;

/**
 * A generator of ids in the layout of a MongoDB ObjectId, as 24 hex digits: 4 bytes Unix seconds, 5 bytes
 * `random` (the generator's own), 3 bytes counter.
 *
 * Each id is above the one before and above `highest`, the highest id that was ever made (null for none). So
 * where the clock stands still or goes back, the seconds of an id run ahead of it.
 */
export function objectIds(random: Uint8Array, highest: string | null): ObjectIds {
  const own = Buffer.from(random).toString('hex');
  let seconds = highest === null ? 0 : Number.parseInt(highest.slice(0, 8), 16) + 1;
  let counter = -1;
  return (at) => {
    const now = Math.min(Math.floor(at / 1000), MAX_SECONDS);
    counter += 1;
    if (now > seconds || counter > MAX_COUNTER) {
      seconds = Math.max(now, seconds + 1);
      counter = 0;
    }
    if (seconds > MAX_SECONDS) throw new HoldfastError('internal', 'there are no more object ids');
    return hex(seconds, 8) + own + hex(counter, 6);
  };
}

function hex(value: number, digits: number): string {
  return value.toString(16).padStart(digits, '0');
}
