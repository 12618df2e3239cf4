import { mkdir, readFile, stat, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { type AdminOptions, createAdministrator } from '../../../src/http/access/admin.ts';
import { temporaryFolder } from '../../support/folder.ts';

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
