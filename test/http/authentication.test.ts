import { mkdir, readFile, stat, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { type AdminOptions, createAdministrator } from '../../src/http/access/admin.ts';
import { type Account, createAuthenticator } from '../../src/http/access/authentication.ts';
import { hashedPasswordCheck, hashPassword, plainPasswordCheck } from '../../src/http/access/password.ts';
import { temporaryFolder } from '../support/folder.ts';

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

/** As a start that comes to serve. */
async function adminAccount(options: AdminOptions) {
  const { account, keepPassword } = await createAdministrator(options);
  await keepPassword();
  return account;
}

describe('the administrator’s file', () => {
  const options = async () => {
    const told: string[] = [];
    const file = join(await temporaryFolder(), 'admin.json');
    const common = { user: null, password: null, email: null, file };
    return {
      told,
      options: { ...common, announce: (_: string, password: string) => void told.push(password) },
    };
  };

  it('is made once, for its owner only, and checks the password that was shown', async () => {
    const { told, options: setup } = await options();
    const first = await adminAccount(setup);
    const again = await adminAccount(setup);
    expect(told).toHaveLength(1);
    for (const { user, check } of [first, again]) {
      expect(user).toEqual({ name: 'admin', email: 'admin@holdfast.invalid' });
      expect([await check(told[0] ?? ''), await check('')]).toEqual([true, false]);
    }
    expect((await stat(setup.file)).mode & 0o777).toBe(0o600);
  });

  it.each([
    ['no JSON', () => '{'],
    ['nothing', () => ''],
    ['an empty salt', (text: string) => text.replace(/"salt": "[^"]*"/, '"salt": ""')],
    ['a hash that was cut', (text: string) => text.replace(/"hash": "..../, '"hash": "')],
    ['a cost that is no power of two', (text: string) => text.replace('32768', '32767')],
    ['a cost that would take all memory', (text: string) => text.replace('32768', '1073741824')],
    ['another algorithm', (text: string) => text.replace('scrypt', 'md5')],
  ])('is refused, and kept, where it holds %s', async (_, damage) => {
    const { told, options: setup } = await options();
    await adminAccount(setup);
    const text = damage(await readFile(setup.file, 'utf8'));
    await writeFile(setup.file, text);
    await expect(adminAccount(setup)).rejects.toMatchObject({ kind: 'invalid' });
    expect(await readFile(setup.file, 'utf8')).toBe(text);
    expect(told).toHaveLength(1);
  });

  it('is not taken for one that was never made where it cannot be read', async () => {
    const { told, options: setup } = await options();
    await mkdir(setup.file);
    await expect(adminAccount(setup)).rejects.toThrow('EISDIR');
    expect(told).toEqual([]);
  });

  it('is not there, and nothing was shown, where the start did not come to serve', async () => {
    const { told, options: setup } = await options();
    await createAdministrator(setup);
    await expect(stat(setup.file)).rejects.toThrow('ENOENT');
    expect(told).toEqual([]);
    const { check } = await adminAccount(setup);
    expect([told.length, await check(told[0] ?? '')]).toEqual([1, true]);
  });

  it('is written anew where something lies at the place of the unfinished one', async () => {
    const { told, options: setup } = await options();
    await writeFile(`${setup.file}.new`, 'of another', { mode: 0o666 });
    await adminAccount(setup);
    expect(told).toHaveLength(1);
    expect((await stat(setup.file)).mode & 0o777).toBe(0o600);
  });

  it('is not looked at where the settings name an account', async () => {
    const { told, options: setup } = await options();
    await writeFile(setup.file, 'damaged');
    const account = await adminAccount({ ...setup, user: 'o p/s', password: 'p', email: null });
    expect(account.user).toEqual({ name: 'o p/s', email: 'o_p_s@holdfast.invalid' });
    expect([await account.check('p'), told]).toEqual([true, []]);
  });
});
