import { randomBytes, scrypt, timingSafeEqual } from 'node:crypto';
import * as z from 'zod';
import { createTurns } from '../../async/turns.ts';
import { HoldfastError } from '../../errors.ts';
import { type CheckPassword, sameText } from './authentication.ts';

const HASH_BYTES = 32;
/** `HASH_BYTES` in base64. */
const HASH_TEXT = /^[A-Za-z0-9+/]{43}=$/;

/** A password's hash as it is kept: scrypt (RFC 7914) with its parameters, so that they can grow later. */
export const PasswordHash = z.object({
  algorithm: z.literal('scrypt'),
  cost: z
    .int()
    .min(2)
    .max(2 ** 20)
    .refine((cost) => Number.isInteger(Math.log2(cost)), 'must be a power of two'),
  blockSize: z.int().min(1).max(64),
  parallelization: z.int().min(1).max(64),
  salt: z.base64().min(1),
  hash: z.string().regex(HASH_TEXT),
});
export type PasswordHash = z.infer<typeof PasswordHash>;

const PARAMETERS = { cost: 32_768, blockSize: 8, parallelization: 1 };
/** Slow checks that run at once: a flood of wrong passwords must not take all of the machine. */
const MAX_CHECKS = 2;
/** Checks that wait for their turn: those before the last one take a few seconds, and a device waits no longer. */
const MAX_WAITING = 64;

/** A password that nobody has to remember: 160 bits. */
export function makePassword(): string {
  return randomBytes(20).toString('base64url');
}

export async function hashPassword(password: string): Promise<PasswordHash> {
  const salt = randomBytes(16);
  const hash = await derive(password, salt, PARAMETERS);
  return { algorithm: 'scrypt', ...PARAMETERS, salt: salt.toString('base64'), hash: hash.toString('base64') };
}

/** Checks against a hash; slow on purpose, and only so many at a time. */
export function againstHash(kept: PasswordHash): CheckPassword {
  const salt = Buffer.from(kept.salt, 'base64');
  const expected = Buffer.from(kept.hash, 'base64');
  const takeTurns = createTurns(MAX_CHECKS, MAX_WAITING, tooMany);
  return (password) => takeTurns(async () => timingSafeEqual(await derive(password, salt, kept), expected));
}

function tooMany(): HoldfastError {
  return new HoldfastError('unavailable', 'too many credentials are being checked; try again later');
}

/** Checks against a password that the settings hold in plain. */
export function againstPlain(expected: string): CheckPassword {
  return async (password) => sameText(password, expected);
}

function derive(
  password: string,
  salt: Buffer,
  { cost, blockSize, parallelization }: typeof PARAMETERS,
): Promise<Buffer> {
  const options = { cost, blockSize, parallelization, maxmem: 256 * cost * blockSize };
  return new Promise((resolve, reject) => {
    scrypt(password.normalize('NFC'), salt, HASH_BYTES, options, (error, key) =>
      error === null ? resolve(key) : reject(error),
    );
  });
}
