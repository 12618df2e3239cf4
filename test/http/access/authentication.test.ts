import { describe, expect, it } from 'vitest';
import { type Account, createAuthenticator } from '../../../src/http/access/authentication.ts';
import { plainPasswordCheck } from '../../../src/http/access/password.ts';

const basic = (name: string, password: string): string =>
  `Basic ${Buffer.from(`${name}:${password}`).toString('base64')}`;

/** Accounts that count how often their password is checked, and a clock to move. */
function counted(names: readonly string[]) {
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

describe('the authenticator', () => {
  it('checks a right credential once, and again after a minute without it', async () => {
    const { authenticator, checks, clock } = counted(['pat']);
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

  it('checks a credential once for all who come with it at the same time, and again after a wrong one', async () => {
    const { authenticator, checks } = counted(['pat']);
    for (const [header, after] of [
      [basic('pat', 'pat-secret'), 1],
      [basic('pat', 'guess'), 2],
      [basic('pat', 'guess'), 3],
    ] as const) {
      await Promise.all(Array.from({ length: 50 }, () => authenticator.authenticate(header)));
      expect(checks).toHaveLength(after);
    }
  });

  it('remembers no wrong one, and lets none in because of what it remembers', async () => {
    const { authenticator, checks } = counted(['pat']);
    await authenticator.authenticate(basic('pat', 'pat-secret'));
    for (const wrong of [basic('pat', 'guess'), basic('pat', 'guess'), basic('Pat', 'pat-secret')])
      expect(await authenticator.authenticate(wrong)).toBeNull();
    expect(checks).toHaveLength(4);
  });

  it('checks every account whoever asks, so that time tells no names', async () => {
    const { authenticator, checks } = counted(['ann', 'bob', 'cid']);
    expect(await authenticator.authenticate(basic('ann', 'ann-secret'))).toMatchObject({ name: 'ann' });
    expect(await authenticator.authenticate(basic('ann', 'bob-secret'))).toBeNull();
    expect(await authenticator.authenticate(basic('nobody', 'x'))).toBeNull();
    expect(checks).toEqual(Array(3).fill(['ann', 'bob', 'cid']).flat());
  });

  it('forgets all rather than keep more than ten thousand', async () => {
    const { authenticator, checks } = counted(['pat']);
    const header = (index: number): string => `${basic('pat', 'pat-secret')}${' '.repeat(index)}`;
    for (let index = 0; index <= 10_000; index++) await authenticator.authenticate(header(index));
    expect(checks).toHaveLength(10_001);
    await authenticator.authenticate(header(10_000));
    expect(checks).toHaveLength(10_001);
    await authenticator.authenticate(header(0));
    expect(checks).toHaveLength(10_002);
  });
});
