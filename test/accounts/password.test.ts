import { describe, expect, it } from 'vitest';
import {
  generatePassword,
  hashedPasswordCheck,
  hashGenerated,
  type PasswordHash,
} from '../../src/accounts/password.ts';

/** The hash of "caf\u00e9" as earlier managers stored it, at a low cost. */
const SLOW_HASH: PasswordHash = {
  algorithm: 'scrypt',
  ...{ cost: 16, blockSize: 1, parallelization: 1, salt: 'c2FsdA==' },
  hash: 'a56GIQZO9aH+yLaZeaLZZCpYOtyLQfFqxQpsKBdgv6E=',
};

describe('hashedPasswordCheck', () => {
  it('accepts a generated password alone, and never refuses to check one, for a hash of this manager', async () => {
    const password = generatePassword();
    const check = hashedPasswordCheck(hashGenerated(password));
    const guesses = Array.from({ length: 1000 }, (_, index) => check(`${password}${index}`));
    expect(await check(password)).toBe(true);
    expect(new Set(await Promise.all(guesses))).toEqual(new Set([false]));
  });

  it('accepts a password in any Unicode form for a hash of an earlier manager', async () => {
    const check = hashedPasswordCheck(SLOW_HASH);
    const passwords = ['caf\u00e9', 'cafe\u0301', 'cafe'];
    expect(await Promise.all(passwords.map(check))).toEqual([true, true, false]);
  });

  it('checks at most 66 passwords at once against such a hash, and refuses further ones meanwhile', async () => {
    const check = hashedPasswordCheck(SLOW_HASH);
    const checks = Array.from({ length: 66 }, () => check('guess'));
    await expect(check('guess')).rejects.toMatchObject({ kind: 'unavailable' });
    expect(await Promise.all(checks)).toEqual(Array(66).fill(false));
    expect(await check('guess')).toBe(false);
  });
});
