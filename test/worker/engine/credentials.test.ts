import { chmod } from 'node:fs/promises';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { findLogin } from '../../../src/worker/engine/credentials.ts';
import { temporaryFolder, writeFiles } from '../../support/folder.ts';

const HUB = 'https://index.docker.io/v1/';
const DEV = Buffer.from('dev:a:b').toString('base64');
const login = { username: 'dev', password: 'a:b' };

/** Looks for credentials with this `config.json`, and with helpers that are shell scripts, by name. */
async function find(registry: string, config: unknown, helpers: Record<string, string> = {}) {
  const folder = await temporaryFolder();
  const text = typeof config === 'string' ? config : JSON.stringify(config);
  await writeFiles(folder, { 'config.json': text });
  for (const [name, script] of Object.entries(helpers)) {
    await writeFiles(folder, { [`docker-credential-${name}`]: `#!/bin/sh\n${script}\n` });
    await chmod(join(folder, `docker-credential-${name}`), 0o755);
  }
  const env = { PATH: `${folder}:/usr/bin:/bin` };
  return findLogin(registry, { fixed: null, dockerConfig: folder, env });
}

describe("credentials in Docker's file", () => {
  const places = [
    { name: 'by host', registry: 'ghcr.io', auths: { 'ghcr.io': { auth: DEV } } },
    { name: 'by host and port', registry: '127.0.0.1:5000', auths: { '127.0.0.1:5000': { auth: DEV } } },
    { name: 'by address', registry: 'ghcr.io', auths: { 'https://ghcr.io/v2/': { auth: DEV } } },
    { name: 'as name and password', registry: 'ghcr.io', auths: { 'ghcr.io': login } },
  ];
  for (const { name, registry, auths } of places)
    it(`are found ${name}`, async () => {
      expect(await find(registry, { auths })).toEqual({ ...login, serveraddress: registry });
    });

  it.each([HUB, 'docker.io', 'index.docker.io'])('are found for Docker Hub by %s', async (key) => {
    expect(await find('docker.io', { auths: { [key]: { auth: DEV } } })).toEqual({
      ...login,
      serveraddress: HUB,
    });
  });

  it('can be a token', async () => {
    const auths = { 'ghcr.io': { auth: DEV, identitytoken: 'token' } };
    expect(await find('ghcr.io', { auths })).toEqual({ identitytoken: 'token', serveraddress: 'ghcr.io' });
  });

  const without: { name: string; config: unknown }[] = [
    { name: 'another registry', config: { auths: { 'ghcr.io.example.com': { auth: DEV } } } },
    { name: 'an empty entry', config: { auths: { 'ghcr.io': {} } } },
    { name: 'no registries', config: {} },
    { name: 'a key of every object', config: { auths: { toString: { auth: DEV } } } },
  ];
  for (const { name, config } of without)
    it(`are none for ${name}`, async () => {
      expect(await find('ghcr.io', config)).toBeNull();
    });

  it('are none without a file', async () => {
    const dockerConfig = await temporaryFolder();
    expect(await findLogin('ghcr.io', { fixed: null, dockerConfig, env: {} })).toBeNull();
    expect(await findLogin('ghcr.io', { fixed: null, dockerConfig: null, env: {} })).toBeNull();
  });

  it.each(['{"auths": {"ghcr.io": {"auth": "c2VjcmV0', '[]'])(
    'that cannot be read are an error without its text: %s',
    async (text) => {
      await expect(find('ghcr.io', text)).rejects.toMatchObject({
        code: 'unauthorized',
        message: expect.stringMatching(
          /^the registry credentials in .*config.json cannot be read: it is not/,
        ),
      });
    },
  );

  it('are less than an account that was passed in, which no other registry gets', async () => {
    const fixed = { registry: HUB, username: 'operator', password: 'secret' };
    const sources = { fixed, dockerConfig: null, env: {} };
    expect(await findLogin('docker.io', sources)).toEqual({
      username: 'operator',
      password: 'secret',
      serveraddress: HUB,
    });
    expect(await findLogin('ghcr.io', sources)).toBeNull();
  });
});

describe('a credential helper', () => {
  const ANSWER = 'read -r host; echo "{\\"Username\\":\\"dev\\",\\"Secret\\":\\"for $host\\"}"';

  it('is asked for its registry', async () => {
    const config = { credHelpers: { 'ghcr.io': 'one' }, credsStore: 'other' };
    // `read` fails at the end of input without a line break, but has the text.
    const found = await find('ghcr.io', config, { one: ANSWER });
    expect(found).toEqual({ username: 'dev', password: 'for ghcr.io', serveraddress: 'ghcr.io' });
  });

  it('is asked for every registry as the store', async () => {
    const found = await find('docker.io', { credsStore: 'one' }, { one: ANSWER });
    expect(found).toEqual({ username: 'dev', password: `for ${HUB}`, serveraddress: HUB });
  });

  it('can have a token', async () => {
    const script = 'echo \'{"Username":"<token>","Secret":"abc"}\'';
    const found = await find('ghcr.io', { credsStore: 'one' }, { one: script });
    expect(found).toEqual({ identitytoken: 'abc', serveraddress: 'ghcr.io' });
  });

  it('may have nothing, and then the file counts', async () => {
    const config = { credsStore: 'one', auths: { 'ghcr.io': { auth: DEV } } };
    const script = 'echo "credentials not found in native keychain"; exit 1';
    expect(await find('ghcr.io', config, { one: script })).toMatchObject(login);
    expect(await find('quay.io', config, { one: script })).toBeNull();
  });

  const failing = [
    { name: 'is missing', helper: 'two', script: 'exit 0', message: /is not on the PATH$/ },
    {
      name: 'fails',
      helper: 'one',
      script: 'echo secret; echo secret >&2; exit 7',
      message: /failed with code 7$/,
    },
    {
      name: 'says something else',
      helper: 'one',
      script: 'echo secret',
      message: /something else than JSON$/,
    },
    { name: 'has a path for a name', helper: '../one', script: 'exit 0', message: /invalid name$/ },
  ];
  for (const { name, helper, script, message } of failing)
    it(`that ${name} is an error that has nothing of what it wrote`, async () => {
      const work = find('ghcr.io', { credHelpers: { 'ghcr.io': helper } }, { one: script });
      await expect(work).rejects.toMatchObject({
        code: 'unauthorized',
        message: expect.stringMatching(message),
      });
      await expect(work).rejects.toMatchObject({ message: expect.not.stringContaining('secret') });
    });
});
