import { readdir, readFile, rm, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { temporaryFolder } from '../support/folder.ts';
import { HAS_OPENSSL, redirectTo, serveHttps } from '../support/https-origin.ts';
import { SMALL_FLEET, type TestManager } from '../support/manager.ts';
import { startFollower, testOrigin } from '../support/origin.ts';
import { serveSsh } from '../support/ssh-origin.ts';

const WEB = '/api/v2/apps/web';
const TOKEN = 's3cret-token';

/** Checks that neither the status, the log nor a file of the data folder contains the token. */
async function expectNoTrace(manager: TestManager): Promise<void> {
  const reconcile = (await manager.get('/api/v2/reconcile')).text;
  expect(reconcile + JSON.stringify(manager.log)).not.toContain(TOKEN);
  const files = await readdir(manager.dataFolder, { recursive: true, withFileTypes: true });
  for (const file of files.filter((entry) => entry.isFile())) {
    expect(await readFile(join(file.parentPath, file.name), 'latin1'), file.name).not.toContain(TOKEN);
  }
}

describe.skipIf(!HAS_OPENSSL)('origin over https', () => {
  const settingsFor = (caFile: string) => ({
    GIT_USERNAME: 'robot',
    GIT_TOKEN: TOKEN,
    GIT_CA_FILE: caFile,
  });

  it('is read and written with the user name and the token', async () => {
    const origin = await testOrigin(SMALL_FLEET);
    const { url, caFile } = await serveHttps(origin.url, `robot:${TOKEN}`);
    const manager = await startFollower({ ...origin, url }, { settings: settingsFor(caFile) });
    expect((await manager.get('/api/v2/reconcile')).body).toMatchObject({ state: 'applied', error: null });
    expect((await manager.put(`${WEB}/update`, { container_image: 'https:1' })).status).toBe(202);
    expect(await origin.bare.show('desired-state/apps/web.yaml', 'main')).toContain('https:1');
    await expectNoTrace(manager);
  });

  it.each([
    ['a wrong token', { GIT_TOKEN: `${TOKEN}x` }],
    ['a wrong user name', { GIT_USERNAME: 'someone' }],
    ['no token', { GIT_TOKEN: '' }],
  ])('with %s: the status names the settings to check', async (_name, wrong) => {
    const origin = await testOrigin(SMALL_FLEET);
    const { url, caFile } = await serveHttps(origin.url, `robot:${TOKEN}`);
    const manager = await startFollower(
      { ...origin, url },
      { settings: { ...settingsFor(caFile), ...wrong } },
    );
    expect((await manager.get('/api/v2/reconcile')).body.error.message).toBe(
      'origin rejects the credentials; check GIT_USERNAME and GIT_TOKEN (or GIT_TOKEN_FILE)',
    );
    expect((await manager.post('/api/v2/apps/new', { container_image: 'a' })).status).toBe(503);
    await expectNoTrace(manager);
  });

  it('is read and written with the token that a file has at the time, so a new one needs no restart', async () => {
    const origin = await testOrigin(SMALL_FLEET);
    const { url, caFile, expect: expectFrom } = await serveHttps(origin.url, `robot:${TOKEN}`);
    const file = join(await temporaryFolder(), "the manager's token");
    await writeFile(file, `${TOKEN}\n`, { mode: 0o600 });
    const manager = await startFollower(
      { ...origin, url },
      { settings: { ...settingsFor(caFile), GIT_TOKEN: '', GIT_TOKEN_FILE: file } },
    );
    expect((await manager.put(`${WEB}/update`, { container_image: 'https:1' })).status).toBe(202);

    expectFrom('robot:next-token');
    expect((await manager.put(`${WEB}/update`, { container_image: 'https:2' })).status).toBe(503);
    await writeFile(file, 'next-token\r\n');
    expect((await manager.put(`${WEB}/update`, { container_image: 'https:3' })).status).toBe(202);
    expect(await origin.bare.show('desired-state/apps/web.yaml', 'main')).toContain('https:3');

    await rm(file);
    expect((await manager.put(`${WEB}/update`, { container_image: 'https:4' })).body.error).toContain(
      'GIT_TOKEN_FILE cannot be read',
    );
    await expectNoTrace(manager);
  });

  it('with a certificate that is not trusted gets no request, and the status names GIT_CA_FILE', async () => {
    const origin = await testOrigin(SMALL_FLEET);
    const { url, seen } = await serveHttps(origin.url, `robot:${TOKEN}`);
    const settings = { GIT_USERNAME: 'robot', GIT_TOKEN: TOKEN };
    const manager = await startFollower({ ...origin, url }, { settings });
    expect((await manager.get('/api/v2/reconcile')).body.error.message).toBe(
      'the certificate of origin is not trusted; check GIT_CA_FILE',
    );
    expect(seen).toEqual([]);
  });

  it('that redirects to another host does not make the manager send credentials there', async () => {
    const origin = await testOrigin(SMALL_FLEET);
    const thief = await serveHttps(origin.url, 'nobody:knows');
    const elsewhere = `https://127.0.0.1:${thief.port}/fleet.git`;
    const { url, caFile } = await serveHttps(origin.url, `robot:${TOKEN}`, redirectTo(elsewhere));
    const both = join(await temporaryFolder(), 'both.pem');
    await writeFile(both, (await readFile(caFile, 'utf8')) + (await readFile(thief.caFile, 'utf8')));
    const manager = await startFollower({ ...origin, url }, { settings: settingsFor(both) });
    expect((await manager.get('/api/v2/reconcile')).body.state).toBe('failing');
    expect(thief.seen.length).toBeGreaterThan(0);
    expect(thief.seen.filter((header) => header !== null)).toEqual([]);
  });
});

describe('origin at a path', () => {
  it('gets no token, since its hooks are programs of other users', async () => {
    const origin = await testOrigin(SMALL_FLEET);
    const seen = join(await temporaryFolder(), 'seen');
    await writeFile(join(origin.url, 'hooks/pre-receive'), `#!/bin/sh\nenv > '${seen}'\n`, { mode: 0o755 });
    const manager = await startFollower(origin, { settings: { GIT_TOKEN: TOKEN } });
    expect((await manager.put(`${WEB}/update`, { container_image: 'path:1' })).status).toBe(202);
    expect(await readFile(seen, 'utf8')).not.toContain(TOKEN);
  });
});

describe('origin over ssh', () => {
  it('is reached with the key and the known hosts of the settings, and ssh asks no questions', async () => {
    const origin = await testOrigin(SMALL_FLEET);
    const folder = await temporaryFolder();
    const calls = join(folder, 'calls');
    // A stand-in for ssh: notes its arguments, and runs the remote command on this machine.
    const program = `#!/bin/sh\nfor a in "$@"; do printf '%s\\n' "$a" >> '${calls}'; done\nfor last; do :; done\nexec sh -c "$last"\n`;
    await writeFile(join(folder, 'ssh'), program, { mode: 0o755 });
    const settings = { GIT_SSH_KEY: "/run/it's a key", GIT_KNOWN_HOSTS: '/etc/known hosts' };
    const manager = await startFollower(
      { ...origin, url: `ssh://git@forge.example${origin.url}` },
      { settings, path: `${folder}:${process.env['PATH']}` },
    );
    expect((await manager.get('/api/v2/reconcile')).body).toMatchObject({ state: 'applied', error: null });
    expect((await manager.put(`${WEB}/update`, { container_image: 'ssh:1' })).status).toBe(202);
    const passed = (await readFile(calls, 'utf8')).split('\n');
    for (const option of [
      'BatchMode=yes',
      'StrictHostKeyChecking=yes',
      'IdentitiesOnly=yes',
      'IdentityFile="/run/it\'s a key"',
      'UserKnownHostsFile="/etc/known hosts"',
      'git@forge.example',
    ])
      expect(passed).toContain(option);
  });

  it.each([
    ['Host key verification failed.', 'the host key of origin is unknown; check GIT_KNOWN_HOSTS'],
    [
      'git@forge.example: Permission denied (publickey).',
      'origin rejects the ssh key; GIT_SSH_KEY must name a private key that the user of the manager alone may read',
    ],
    [
      "Permissions 0644 for '/run/key' are too open.\ngit@forge.example: Permission denied (publickey).",
      'origin rejects the ssh key; GIT_SSH_KEY must name a private key that the user of the manager alone may read',
    ],
    [
      'Load key "/run/key": Permission denied\ngit@forge.example: Permission denied (publickey).',
      'origin rejects the ssh key; GIT_SSH_KEY must name a private key that the user of the manager alone may read',
    ],
    [
      'no such identity: /run/key: No such file or directory\ngit@forge.example: Permission denied (publickey).',
      'origin rejects the ssh key; GIT_SSH_KEY must name a private key that the user of the manager alone may read',
    ],
    [
      'ssh: connect to host forge.example port 22: Connection refused',
      'origin is unreachable; check GIT_REMOTE and the network',
    ],
  ])('that fails with "%s": the status says what to check', async (text, message) => {
    const origin = await testOrigin(SMALL_FLEET);
    const { url, path, behave } = await serveSsh(origin.url);
    await behave(`cat >&2 <<'END'\n${text}\nEND\nexit 255\n`);
    const manager = await startFollower({ ...origin, url }, { path });
    expect((await manager.get('/api/v2/reconcile')).body.error.message).toBe(message);
  });
});
