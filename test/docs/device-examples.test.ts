import { execFile } from 'node:child_process';
import { cp, readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { describe, expect, it } from 'vitest';
import { parse } from 'yaml';
import { parseWorkerConfig } from '../../src/worker/settings.ts';
import { startFakeEngine } from '../support/fake-engine.ts';
import { temporaryFolder } from '../support/folder.ts';
import { PASSWORD, startManager, USER } from '../support/manager.ts';
import { PROJECT } from '../support/project.ts';
import { foundOrRequired, works } from '../support/tools.ts';

const execute = promisify(execFile);
const EXAMPLES = join(PROJECT, 'examples');

/** Returns the settings that the worker reads from these variables. The files of secrets have a password. */
function settingsOf(env: Record<string, string>) {
  const result = parseWorkerConfig(env, [], () => 'the password of all devices');
  expect(result).toMatchObject({ ok: true });
  return result.ok ? result.config : null;
}

describe('worker.Dockerfile', async () => {
  const text = await readFile(join(EXAMPLES, 'worker.Dockerfile'), 'utf8');

  it('copies one file, which runs without any package, shows help and previews what a device would do', async () => {
    const copies = [...text.matchAll(/^COPY (\S+) (\S+)$/gm)].map(([, from = '', to = '']) => ({ from, to }));
    expect(copies).toHaveLength(1);
    const [{ from, to } = { from: '', to: '' }] = copies;
    const folder = await temporaryFolder();
    const file = join(folder, 'worker.mjs');
    await cp(join(PROJECT, from), file);
    const commands = [...text.matchAll(/CMD (\[.*\])$/gm)].map(([, json = '']) => JSON.parse(json));
    expect(commands).toEqual([
      ['node', to, 'worker', 'status'],
      ['node', to, 'worker'],
    ]);
    const run = (args: readonly string[], env = {}) =>
      execute(process.execPath, [file, 'worker', ...args], { cwd: folder, env });
    expect((await run(['--help'])).stdout).toContain('holdfast worker --dry-run');
    const engine = await startFakeEngine();
    const manager = await startManager({
      files: { 'apps/web.yaml': 'container_image: web:1\n', 'device-groups/edge.yaml': 'apps: [web]\n' },
    });
    const { stdout } = await run(['--dry-run'], {
      MANAGER: manager.service.address,
      DEVICE_GROUP: 'edge',
      DEVICE_AUTH_USER: USER,
      DEVICE_AUTH_PASSWORD: PASSWORD,
      ENGINE: engine.socket,
    });
    expect(stdout).toMatch(/^web: pull web:1, create 1 container \(id \d+\)\nNothing was done\.\n$/);
  });

  it('names its base by an argument, does not run as root, and keeps the data in a folder of that user', () => {
    expect(text).toMatch(/^ARG BASE=\S+\nFROM \$\{BASE\}$/m);
    expect(text).toMatch(/^ARG RUN_AS=1000:1000\nUSER \$\{RUN_AS\}$/m);
    expect(text).toContain("fs.chownSync('/data', 1000, 1000)");
    expect(text).toMatch(/^ENV DATA_DIR=\/data$/m);
  });
});

describe('worker-compose.yaml', async () => {
  const { services, secrets } = parse(await readFile(join(EXAMPLES, 'worker-compose.yaml'), 'utf8'));
  const { worker } = services;

  it('gives the worker few rights, the socket, and limits', () => {
    expect(worker).toMatchObject({
      read_only: true,
      cap_drop: ['ALL'],
      security_opt: ['no-new-privileges:true'],
      mem_limit: expect.any(String),
      pids_limit: expect.any(Number),
      logging: { options: { 'max-size': expect.any(String) } },
    });
    expect(worker.volumes).toEqual(['/var/run/docker.sock:/var/run/docker.sock', 'data:/data']);
    expect(worker.image).toMatch(/^\$\{\w+:-.+\}$/);
  });

  it('sets what the worker needs, and the password as a file', () => {
    const env = { ...worker.environment, MANAGER: 'https://fleet.example', DEVICE_GROUP: 'stores' };
    expect(settingsOf(env)).toMatchObject({ DEVICE_AUTH_USER: 'devices' });
    expect(worker.environment.DEVICE_AUTH_PASSWORD_FILE).toBe(`/run/secrets/${worker.secrets[0]}`);
    expect(Object.keys(secrets)).toEqual(worker.secrets);
  });
});

describe('holdfast-worker.service', async () => {
  const unit = await readFile(join(EXAMPLES, 'holdfast-worker.service'), 'utf8');

  it('sets what the worker needs, with the file of its comment, and the password as a credential', () => {
    const pairs = [...unit.matchAll(/^Environment=(.*)$/gm)].flatMap(([, line = '']) => line.split(' '));
    const [, file = ''] = /printf '(MANAGER=.*)' > \/etc\/holdfast-worker\/settings$/m.exec(unit) ?? [];
    const env = Object.fromEntries(
      [...pairs, ...file.split('\\n').filter(Boolean)].map((pair) => pair.split('=')),
    );
    expect(settingsOf(env)).toMatchObject({ MANAGER: 'https://fleet.example', DEVICE_GROUP: 'stores' });
    const [, credential] = /^LoadCredential=([\w-]+):/m.exec(unit) ?? [];
    expect(env.DEVICE_AUTH_PASSWORD_FILE).toBe(`%d/${credential}`);
    expect(unit).toMatch(/^ExecStart=\/usr\/bin\/env holdfast worker$/m);
  });

  const hasSystemd = foundOrRequired('systemd-analyze', works('systemd-analyze', ['--version']));

  it.skipIf(!hasSystemd)('has an exposure that systemd rates 1.4 or better, of 10', async () => {
    const path = join(EXAMPLES, 'holdfast-worker.service');
    await execute('systemd-analyze', ['security', '--offline=yes', '--threshold=14', path]);
  });
});
