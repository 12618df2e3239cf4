import { hash as digest, randomBytes, timingSafeEqual } from 'node:crypto';
import * as z from 'zod';
import { type CheckPassword, equalInConstantTime } from './authenticator.ts';

/**
 * The hash of a generated password as it is stored: SHA-256, for no number of guesses finds 160 random bits, so the hash need not be
 * slow or salted.
 */
export const PasswordHash = z.object({
  algorithm: z.literal('sha256'),
  hash: z.string().regex(/^[A-Za-z0-9+/]{43}=$/, 'must be 32 bytes in base64'),
});
export type PasswordHash = z.infer<typeof PasswordHash>;

/** Returns a new password of 160 random bits. */
export function generatePassword(): string {
  return randomBytes(20).toString('base64url');
}

/** Hashes a password that `generatePassword` returned; any other could be guessed from this hash. */
export function hashGenerated(password: string): PasswordHash {
  return { algorithm: 'sha256', hash: digest('sha256', password, 'base64') };
}

/** Returns a check of passwords against a stored hash. */
export function hashedPasswordCheck(stored: PasswordHash): CheckPassword {
  const expected = Buffer.from(stored.hash, 'base64');
  return async (password) => timingSafeEqual(digest('sha256', password, 'buffer'), expected);
}

/** Returns a check of passwords against one that the settings hold in plain text. */
export function plainPasswordCheck(expected: string): CheckPassword {
  return async (password) => equalInConstantTime(password, expected);
}
