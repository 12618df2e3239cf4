import { hash as digest, randomBytes, scrypt, timingSafeEqual } from 'node:crypto';
import * as z from 'zod';
import { createLimiter } from '../async/limiter.ts';
import { HoldfastError } from '../errors.ts';
import { type CheckPassword, equalInConstantTime } from './authenticator.ts';

const HASH_BYTES = 32;
/** `HASH_BYTES` in base64. */
const HASH_TEXT = /^[A-Za-z0-9+/]{43}=$/;

/** SHA-256 of a generated password: no number of guesses finds 160 random bits, so the hash need not be slow or salted. */
const FastHash = z.object({ algorithm: z.literal('sha256'), hash: z.string().regex(HASH_TEXT) });

/** scrypt (RFC 7914) with its parameters, as earlier managers stored the hash. */
const SlowHash = z.object({
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
type SlowHash = z.infer<typeof SlowHash>;

/** The hash of a generated password as it is stored. */
export const PasswordHash = z.discriminatedUnion('algorithm', [FastHash, SlowHash]);
export type PasswordHash = z.infer<typeof PasswordHash>;

/** How many slow checks run at once: a flood of wrong passwords must not occupy the whole machine. */
const MAX_CHECKS = 2;
/** How many checks can wait for their turn. The last one waits a few seconds, which is as long as a device waits. */
const MAX_WAITING = 64;

/** Returns a new password of 160 random bits. */
export function generatePassword(): string {
  return randomBytes(20).toString('base64url');
}

/** Hashes a password that `generatePassword` returned; any other could be guessed from this hash. */
export function hashGenerated(password: string): PasswordHash {
  return { algorithm: 'sha256', hash: digest('sha256', password, 'base64') };
}

/**
 * Returns a check of passwords against a stored hash. With scrypt it is slow, and rejects as `unavailable` if too many
 * calls run or wait.
 */
export function hashedPasswordCheck(stored: PasswordHash): CheckPassword {
  const expected = Buffer.from(stored.hash, 'base64');
  if (stored.algorithm === 'sha256')
    return async (password) => timingSafeEqual(digest('sha256', password, 'buffer'), expected);
  const takeTurns = createLimiter(MAX_CHECKS, MAX_WAITING, tooManyChecks);
  return (password) => takeTurns(async () => timingSafeEqual(await derive(password, stored), expected));
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
  { salt, cost, blockSize, parallelization }: Omit<SlowHash, 'hash'>,
): Promise<Buffer> {
  const options = { cost, blockSize, parallelization, maxmem: 256 * cost * blockSize };
  return new Promise((resolve, reject) => {
    scrypt(password.normalize('NFC'), Buffer.from(salt, 'base64'), HASH_BYTES, options, (error, key) =>
      error === null ? resolve(key) : reject(error),
    );
  });
}
