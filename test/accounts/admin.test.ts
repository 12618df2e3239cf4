import { mkdir, readFile, stat, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { type AdminOptions, createAdministrator } from '../../src/accounts/admin.ts';
import { replaceFile } from '../../src/disk/replace.ts';
import { temporaryFolder } from '../support/folder.ts';

/** Creates the administrator as a successful start does: with the last step. */
async function adminAccount(options: AdminOptions) {
  const { account, keepPassword } = await createAdministrator(options);
  await keepPassword();
  return account;
}

/** A file as it is stored, with the hash of a password that no test knows. */
const VALID_FILE = JSON.stringify(
  { user: 'admin', password: { algorithm: 'sha256', hash: `${'h'.repeat(43)}=` } },
  null,
  2,
);

describe("the administrator's file", () => {
  /** Options without an account, and the passwords that were shown. */
  const prepare = async () => {
    const shown: string[] = [];
    const file = join(await temporaryFolder(), 'admin.json');
    const common = { user: null, password: null, email: null, file, replaceFile };
    return {
      shown,
      setup: { ...common, announce: (_: string, password: string) => void shown.push(password) },
    };
  };

  it('is created once, readable by its owner only, and has the hash of the password that was shown', async () => {
    const { shown, setup } = await prepare();
    const first = await adminAccount(setup);
    const again = await adminAccount(setup);
    expect(shown).toHaveLength(1);
    for (const { principal, check } of [first, again]) {
      expect(principal).toEqual({ name: 'admin', email: 'admin@holdfast.invalid', roles: ['admin'] });
      expect([await check(shown[0] ?? ''), await check('')]).toEqual([true, false]);
    }
    expect((await stat(setup.file)).mode & 0o777).toBe(0o600);
  });

  it.each([
    ['text that is not JSON', () => '{'],
    ['no text', () => ''],
    ['a hash that was cut', (text: string) => text.replace(/"hash": "..../, '"hash": "')],
    ['another algorithm', (text: string) => text.replace('sha256', 'md5')],
  ])('is refused, and kept as it is, if it has %s', async (_, damage) => {
    const { shown, setup } = await prepare();
    await writeFile(setup.file, VALID_FILE);
    expect((await adminAccount(setup)).principal.name).toBe('admin');
    const text = damage(VALID_FILE);
    await writeFile(setup.file, text);
    await expect(adminAccount(setup)).rejects.toMatchObject({ kind: 'invalid' });
    expect(await readFile(setup.file, 'utf8')).toBe(text);
    expect(shown).toEqual([]);
  });

  it('stops the start, and no password is shown, if it cannot be read', async () => {
    const { shown, setup } = await prepare();
    await mkdir(setup.file);
    await expect(adminAccount(setup)).rejects.toThrow('EISDIR');
    expect(shown).toEqual([]);
  });

  it('is not created, and no password is shown, if the start fails before its last step', async () => {
    const { shown, setup } = await prepare();
    await createAdministrator(setup);
    await expect(stat(setup.file)).rejects.toThrow('ENOENT');
    expect(shown).toEqual([]);
    const { check } = await adminAccount(setup);
    expect([shown.length, await check(shown[0] ?? '')]).toEqual([1, true]);
  });

  it('is created with mode 0600 even if its temporary file exists with another mode', async () => {
    const { shown, setup } = await prepare();
    await writeFile(`${setup.file}.new`, 'x', { mode: 0o666 });
    await adminAccount(setup);
    expect(shown).toHaveLength(1);
    expect((await stat(setup.file)).mode & 0o777).toBe(0o600);
  });

  it('is not read if the settings have an account', async () => {
    const { shown, setup } = await prepare();
    await writeFile(setup.file, 'damaged');
    const account = await adminAccount({ ...setup, user: 'o p/s', password: 'p', email: null });
    expect(account.principal).toEqual({ name: 'o p/s', email: 'o_p_s@holdfast.invalid', roles: ['admin'] });
    expect([await account.check('p'), shown]).toEqual([true, []]);
  });
});
