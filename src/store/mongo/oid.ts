import { HoldfastError } from '../../errors.ts';
import type { ObjectIds } from '../object-id.ts';

const MAX_SECONDS = 0xff_ff_ff_ff;
const HIGHEST = (1n << 96n) - 1n;

/**
 * A generator of ids in the layout of a MongoDB ObjectId, each above the one before and above `last` (null: none
 * yet), whoever made it. Where the time is not ahead of the last id, the next is that one plus 1: so ids do not
 * run ahead of the clock, however many managers take turns.
 */
export function nextOid(random: (size: number) => Uint8Array, last: string | null): ObjectIds {
  let highest = last;
  return (at) => {
    const seconds = Math.min(Math.floor(at / 1000), MAX_SECONDS);
    const fresh = `${hex(seconds, 8)}${Buffer.from(random(5)).toString('hex')}000000`;
    highest = highest === null || fresh > highest ? fresh : after(highest);
    return highest;
  };
}

function after(id: string): string {
  const next = BigInt(`0x${id}`) + 1n;
  if (next > HIGHEST) throw new HoldfastError('internal', 'there are no more object ids');
  return next.toString(16).padStart(24, '0');
}

function hex(value: number, digits: number): string {
  return value.toString(16).padStart(digits, '0');
}
