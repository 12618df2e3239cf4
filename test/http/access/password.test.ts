import { describe, expect, it } from 'vitest';
import { hashedPasswordCheck, hashPassword } from '../../../src/http/access/password.ts';

describe('a hash', () => {
  it('is another one each time, and takes the password in any Unicode form', async () => {
    const [one, two] = await Promise.all([hashPassword('caf\u00e9'), hashPassword('caf\u00e9')]);
    expect(one.hash).not.toBe(two.hash);
    for (const kept of [one, two]) {
      expect(await hashedPasswordCheck(kept)('cafe\u0301')).toBe(true);
      for (const wrong of ['cafe', '', 'caf\u00e9 '])
        expect(await hashedPasswordCheck(kept)(wrong)).toBe(false);
    }
  });
});
