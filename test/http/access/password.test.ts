import { describe, expect, it } from 'vitest';
import { hashedPasswordCheck, hashPassword } from '../../../src/http/access/password.ts';

describe('hashPassword and hashedPasswordCheck', () => {
  it('hash a password differently each time, and accept it in any Unicode form', async () => {
    const [first, second] = await Promise.all([hashPassword('caf\u00e9'), hashPassword('caf\u00e9')]);
    expect(first.hash).not.toBe(second.hash);
    for (const stored of [first, second]) {
      expect(await hashedPasswordCheck(stored)('cafe\u0301')).toBe(true);
      for (const wrong of ['cafe', '', 'caf\u00e9 '])
        expect(await hashedPasswordCheck(stored)(wrong)).toBe(false);
    }
  });
});
