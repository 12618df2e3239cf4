import { describe, expect, it } from 'vitest';
import { hashedPasswordCheck, hashPassword } from '../../../src/http/access/password.ts';

describe('hashPassword and hashedPasswordCheck', () => {
  it('hash a password differently each time, and accept it in any Unicode form', async () => {
    const [first, second] = await Promise.all([hashPassword('caf\u00e9'), hashPassword('caf\u00e9')]);
    expect(first.hash).not.toBe(second.hash);
    const check = hashedPasswordCheck(first);
    expect([await check('cafe\u0301'), await check('cafe')]).toEqual([true, false]);
  });

  it('check at most 66 passwords at once, and refuse further ones until one of these is checked', async () => {
    const salt = 'c2FsdA==';
    const parameters = { cost: 16, blockSize: 1, parallelization: 1 };
    const check = hashedPasswordCheck({
      algorithm: 'scrypt',
      ...parameters,
      salt,
      hash: `${'h'.repeat(43)}=`,
    });
    const checks = Array.from({ length: 66 }, () => check('guess'));
    await expect(check('guess')).rejects.toMatchObject({ kind: 'unavailable' });
    expect(await Promise.all(checks)).toEqual(Array(66).fill(false));
    expect(await check('guess')).toBe(false);
  });
});
