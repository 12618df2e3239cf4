import { mkdir, readdir, stat, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { pino } from 'pino';
import { describe, expect, it, onTestFinished } from 'vitest';
import { credentialsOf, openParts, type Parts } from '../../src/worker/parts.ts';
import { parseWorkerConfig, type WorkerConfig } from '../../src/worker/settings.ts';
import { temporaryFolder } from '../support/folder.ts';
import { REAL_CLOCK } from '../support/manager.ts';

function configOf(env: Record<string, string>): WorkerConfig {
  const result = parseWorkerConfig(
    { MANAGER: 'http://127.0.0.1:1', DEVICE_GROUP: 'edge', ...env },
    [],
    () => '',
  );
  if (!result.ok) throw new Error(result.problems.join('\n'));
  return result.config;
}

async function open(env: Record<string, string>, isLocked = true): Promise<Parts> {
  const parts = await openParts({
    config: configOf(env),
    logger: pino({ level: 'silent' }),
    clock: REAL_CLOCK,
    sleep: () => Promise.resolve(),
    stopping: new AbortController().signal,
    isLocked,
  });
  onTestFinished(async () => {
    parts.link.close();
    await parts.socket?.close();
  });
  return parts;
}

describe('the parts of a worker', () => {
  it('begin with a DATA_DIR that only its owner may enter, and that git ignores', async () => {
    const folder = join(await temporaryFolder(), 'new', 'data');
    await open({ DATA_DIR: folder });
    expect((await stat(folder)).mode & 0o777).toBe(0o700);
    expect((await readdir(folder)).sort()).toEqual(['.gitignore', 'worker.sock']);
  });

  it('leave DATA_DIR alone in a dry run, which needs no lock', async () => {
    const folder = join(await temporaryFolder(), 'data');
    const { socket } = await open({ DATA_DIR: folder }, false);
    expect(socket).toBeNull();
    await expect(stat(folder)).rejects.toMatchObject({ code: 'ENOENT' });
  });

  it('have the credentials of one registry, and the folder of those of Docker', () => {
    const settings = { REGISTRY_HOST: 'ghcr.io', REGISTRY_AUTH_USER: 'u', REGISTRY_AUTH_PASSWORD: 'p' };
    const fixed = { registry: 'ghcr.io', username: 'u', password: 'p' };
    const dockerConfig = '/etc/docker-config';
    expect(credentialsOf(configOf({ ...settings, DOCKER_CONFIG: dockerConfig }), {})).toEqual({
      fixed,
      dockerConfig,
      env: {},
    });
    expect(credentialsOf(configOf({}), {})).toMatchObject({ fixed: null });
  });

  it('have the name that DEVICE_NAME gives', async () => {
    expect(await open({ DEVICE_NAME: 'shop-17' }, false)).toMatchObject({ identity: { name: 'shop-17' } });
    expect(await open({}, false)).toMatchObject({ identity: { name: null } });
  });

  it.each<[string, (folder: string) => Promise<Record<string, string>>, string, RegExp]>([
    [
      'a file of certificates that is not there',
      async (folder) => ({ MANAGER_CA_FILE: join(folder, 'ca.pem') }),
      'invalid',
      /^MANAGER_CA_FILE cannot be read: ENOENT/,
    ],
    [
      'a file of certificates that has none',
      async (folder) => {
        await writeFile(join(folder, 'ca.pem'), 'DER');
        return { MANAGER_CA_FILE: join(folder, 'ca.pem') };
      },
      'invalid',
      /^MANAGER_CA_FILE has no certificate in PEM form/,
    ],
    [
      'a DATA_DIR below a file',
      async (folder) => {
        await writeFile(join(folder, 'file'), '');
        return { DATA_DIR: join(folder, 'file', 'data') };
      },
      'invalid',
      /^DATA_DIR cannot be used: .*ENOTDIR.*; set DATA_DIR to a folder that the worker may write to$/,
    ],
    [
      'a DATA_DIR that another worker has',
      async (folder) => {
        await mkdir(join(folder, 'data'));
        await open({ DATA_DIR: join(folder, 'data') });
        return { DATA_DIR: join(folder, 'data') };
      },
      'present',
      /^another worker \(process \d+\) uses /,
    ],
  ])('refuse %s', async (_name, prepare, kind, message) => {
    const env = await prepare(await temporaryFolder());
    await expect(open(env)).rejects.toMatchObject({ kind, message: expect.stringMatching(message) });
  });
});
