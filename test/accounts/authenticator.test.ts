import { describe, expect, it } from 'vitest';
import { type Account, createAuthenticator } from '../../src/accounts/authenticator.ts';
import { plainPasswordCheck } from '../../src/accounts/password.ts';

const basic = (name: string, password: string): string =>
  `Basic ${Buffer.from(`${name}:${password}`).toString('base64')}`;

/** An authenticator with a clock that the test moves; `checks` has the account of every check of a password. */
function startAuthenticator(names: readonly string[]) {
  const checks: string[] = [];
  const clock = { now: 1_000_000 };
  const accounts = names.map((name): Account => {
    const isRight = plainPasswordCheck(`${name}-secret`);
    return {
      principal: { name, email: `${name}@example.com`, roles: ['admin'] },
      check: (password) => {
        checks.push(name);
        return isRight(password);
      },
    };
  });
  return { checks, clock, authenticator: createAuthenticator(accounts, () => clock.now) };
}

describe('createAuthenticator', () => {
  it('checks a right password once a minute, however often it is used', async () => {
    const { authenticator, checks, clock } = startAuthenticator(['pat']);
    const header = basic('pat', 'pat-secret');
    for (let poll = 0; poll < 100; poll++)
      expect(await authenticator.authenticate(header)).toMatchObject({ name: 'pat' });
    clock.now += 59_999;
    expect(authenticator.recall(header)).toMatchObject({ name: 'pat' });
    expect(checks).toHaveLength(1);
    clock.now += 1;
    expect(authenticator.recall(header)).toBeNull();
    await authenticator.authenticate(header);
    expect(checks).toHaveLength(2);
    expect(authenticator.recall(header)).toMatchObject({ name: 'pat' });
  });

  it('shares a running check among concurrent requests with the same header, and remembers no wrong one', async () => {
    const { authenticator, checks } = startAuthenticator(['pat']);
    for (const [header, after] of [
      [basic('pat', 'pat-secret'), 1],
      [basic('pat', 'guess'), 2],
      [basic('pat', 'guess'), 3],
    ] as const) {
      await Promise.all(Array.from({ length: 50 }, () => authenticator.authenticate(header)));
      expect(checks).toHaveLength(after);
    }
  });

  it('refuses every wrong header while it remembers the right one', async () => {
    const { authenticator, checks } = startAuthenticator(['pat']);
    await authenticator.authenticate(basic('pat', 'pat-secret'));
    for (const wrong of [basic('pat', 'guess'), basic('pat', 'guess'), basic('Pat', 'pat-secret')])
      expect(await authenticator.authenticate(wrong)).toBeNull();
    expect(checks).toHaveLength(4);
  });

  it("checks one account's password, and the first one's for an unknown name, which is refused all the same", async () => {
    const { authenticator, checks } = startAuthenticator(['ann', 'bob', 'cid']);
    expect(await authenticator.authenticate(basic('bob', 'bob-secret'))).toMatchObject({ name: 'bob' });
    expect(await authenticator.authenticate(basic('cid', 'bob-secret'))).toBeNull();
    expect(await authenticator.authenticate(basic('unknown', 'ann-secret'))).toBeNull();
    expect(checks).toEqual(['bob', 'cid', 'ann']);
  });

  it('forgets the oldest header rather than remember more than twenty thousand', async () => {
    const { authenticator, checks } = startAuthenticator(['pat']);
    const named = (index: number): string => `${basic('pat', 'pat-secret')}${' '.repeat(index)}`;
    for (let index = 0; index <= 20_000; index++) await authenticator.authenticate(named(index));
    expect(checks).toHaveLength(20_001);
    expect(authenticator.recall(named(0))).toBeNull();
    for (const index of [1, 2, 10_000, 20_000]) expect(authenticator.recall(named(index))).not.toBeNull();
  });
});
