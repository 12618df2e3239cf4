import { randomBytes, scrypt, timingSafeEqual } from 'node:crypto';
import * as z from 'zod';
import { createLimiter } from '../../async/limiter.ts';
import { HoldfastError } from '../../errors.ts';
import { type CheckPassword, equalInConstantTime } from './authentication.ts';

const HASH_BYTES = 32;
/** `HASH_BYTES` in base64. */
const HASH_TEXT = /^[A-Za-z0-9+/]{43}=$/;

/** The hash of a password as it is stored: scrypt (RFC 7914), with its parameters, so that they can be raised later. */
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
/** How many slow checks run at once: a flood of wrong passwords must not occupy the whole machine. */
const MAX_CHECKS = 2;
/** How many checks can wait for their turn. The last one waits a few seconds, which is as long as a device waits. */
const MAX_WAITING = 64;

/** Returns a new password of 160 random bits. */
export function generatePassword(): string {
  return randomBytes(20).toString('base64url');
}

/** Hashes a password with a new salt. */
export async function hashPassword(password: string): Promise<PasswordHash> {
  const salt = randomBytes(16);
  const hash = await derive(password, salt, PARAMETERS);
  return { algorithm: 'scrypt', ...PARAMETERS, salt: salt.toString('base64'), hash: hash.toString('base64') };
}

/**
 * Returns a check of passwords against a hash. It is slow on purpose. If too many calls run or wait, it rejects as
 * `unavailable`.
 */
export function hashedPasswordCheck(stored: PasswordHash): CheckPassword {
  const salt = Buffer.from(stored.salt, 'base64');
  const expected = Buffer.from(stored.hash, 'base64');
  const takeTurns = createLimiter(MAX_CHECKS, MAX_WAITING, tooManyChecks);
  return (password) => takeTurns(async () => timingSafeEqual(await derive(password, salt, stored), expected));
}

function tooManyChecks(): HoldfastError {
  return new HoldfastError('unavailable', 'too many credentials are being checked; try again later');
}

/** Returns a check of passwords against one that the settings hold in plain text. */
export function plainPasswordCheck(expected: string): CheckPassword {
  return async (password) => equalInConstantTime(password, expected);
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
