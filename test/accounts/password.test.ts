import { describe, expect, it } from 'vitest';
import { generatePassword, hashedPasswordCheck, hashGenerated } from '../../src/accounts/password.ts';

describe('hashedPasswordCheck', () => {
  it('accepts a generated password alone, and never refuses to check one', async () => {
    const password = generatePassword();
    const check = hashedPasswordCheck(hashGenerated(password));
    const guesses = Array.from({ length: 1000 }, (_, index) => check(`${password}${index}`));
    expect(await check(password)).toBe(true);
    expect(new Set(await Promise.all(guesses))).toEqual(new Set([false]));
  });
});
