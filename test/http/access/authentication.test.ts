import { describe, expect, it } from 'vitest';
import { type Account, createAuthenticator } from '../../../src/http/access/authentication.ts';
import { plainPasswordCheck } from '../../../src/http/access/password.ts';

const basic = (name: string, password: string): string =>
  `Basic ${Buffer.from(`${name}:${password}`).toString('base64')}`;

/** An authenticator with a clock that the test moves; `checks` has the account of every check of a password. */
function startAuthenticator(names: readonly string[]) {
  const checks: string[] = [];
  const clock = { now: 1_000_000 };
  const accounts = names.map((name): Account => {
    const isRight = plainPasswordCheck(`${name}-secret`);
    return {
      user: { name, email: `${name}@example.com` },
      check: (password) => {
        checks.push(name);
        return isRight(password);
      },
    };
  });
  return { checks, clock, authenticator: createAuthenticator(accounts, () => clock.now) };
}

describe('createAuthenticator', () => {
  it('checks a right password once, and again after a minute in which the header was not used', async () => {
    const { authenticator, checks, clock } = startAuthenticator(['pat']);
    const header = basic('pat', 'pat-secret');
    for (let poll = 0; poll < 100; poll++)
      expect(await authenticator.authenticate(header)).toMatchObject({ name: 'pat' });
    expect(checks).toHaveLength(1);
    for (let minute = 0; minute < 3; minute++) {
      clock.now += 59_999;
      expect(authenticator.recall(header)).toMatchObject({ name: 'pat' });
    }
    await authenticator.authenticate(header);
    expect(checks).toHaveLength(1);
    clock.now += 60_000;
    expect(authenticator.recall(header)).toBeNull();
    await authenticator.authenticate(header);
    expect(checks).toHaveLength(2);
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

  it('forgets all headers rather than remember more than ten thousand', async () => {
    const { authenticator, checks } = startAuthenticator(['pat']);
    const header = (index: number): string => `${basic('pat', 'pat-secret')}${' '.repeat(index)}`;
    for (let index = 0; index <= 10_000; index++) await authenticator.authenticate(header(index));
    expect(checks).toHaveLength(10_001);
    await authenticator.authenticate(header(10_000));
    expect(checks).toHaveLength(10_001);
    await authenticator.authenticate(header(0));
    expect(checks).toHaveLength(10_002);
  });
});
