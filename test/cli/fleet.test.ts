import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { type CommandResult, runCli } from '../support/command.ts';
import { PASSWORD, startManager, type TestManager, USER } from '../support/manager.ts';
import { suiteManager } from '../support/suite.ts';

const CREDENTIALS = `${USER}:${PASSWORD}`;
const FILES = {
  'apps/web.yaml': 'container_image: web:1\n',
  'device-groups/edge.yaml': 'apps: [web]\n',
  'device-groups/lab.yaml': 'apps: [web]\n',
};

function ask(manager: TestManager, ...args: string[]): Promise<CommandResult> {
  return runCli(args, { env: { HOLDFAST: manager.service.address, CREDENTIALS } });
}

async function converge(manager: TestManager, device: string, group = 'edge'): Promise<void> {
  const path = `/api/v2/device_groups/${group}/info`;
  const etag = (await manager.get(path)).headers.get('etag') ?? '';
  await manager.get(path, { headers: { 'holdfast-device': device, 'if-none-match': etag } });
}

function fail(manager: TestManager, hostname: string, error: string): Promise<unknown> {
  const apps = [{ name: 'web', state: 'failing', error }];
  return manager.post('/api/v2/reports', {
    hostname,
    device_group: 'edge',
    report_creation_time: 1,
    worker: { version: '1.2.0' },
    apps,
  });
}

/** Without what differs from run to run. */
const plain = (text: string): string =>
  text
    .replace(/\b[0-9a-f]{12}\b/g, 'COMMIT')
    .replace(/\d+ s ago/g, 'NOW')
    .replace(/\b\d+ s\b/g, 'NOW');

describe('holdfast status', () => {
  it('says that a fleet is fine, and exits with 0', async () => {
    const manager = await startManager({ files: FILES, settings: { FLEET_NAME: 'shops' } });
    await converge(manager, 'pos-1');
    await manager.get('/api/v2/history');
    const { code, out, err } = await ask(manager, 'status');
    expect(plain(out)).toBe(`shops: applied COMMIT NOW (the first fleet, by Pat)
Nothing is wrong.
1 of 1 device current.

Fine.
`);
    expect([code, err]).toEqual([0, '']);
  });

  it('says what is not fine, with the worst groups and devices, and exits with 1', async () => {
    const manager = await startManager({ files: FILES, settings: { FLEET_NAME: 'shops' } });
    for (const device of ['pos-1', 'pos-2']) await converge(manager, device);
    await converge(manager, 'lab-1', 'lab');
    await fail(manager, 'pos-2', 'no such image');
    const { code, out } = await ask(manager, 'status');
    const lines = plain(out).split('\n');
    expect(lines).toContain('2 of 3 devices current; 1 failed');
    expect(lines).toContain('GROUP  DEVICES  CURRENT  BEHIND  FAILED  SILENT  UNKNOWN');
    expect(lines).toContain('edge   2        1        0       1       0       0');
    expect(out).not.toContain('lab ');
    expect(out).toMatch(/^pos-2 {3}edge {3}failed {2}\d+ s +1\.2\.0 {3}web: no such image$/m);
    expect(lines.at(-2)).toBe('Not fine: 1 device failed.');
    expect(code).toBe(1);
    const { out: json } = await ask(manager, 'status', '--format', 'json');
    expect(JSON.parse(json)).toMatchObject({
      fine: false,
      reasons: ['1 device failed'],
      summary: { fleet: 'shops' },
      convergence: { totals: { failed: 1 } },
      devices: [{ device: 'pos-2' }],
    });
  });

  it.each([
    ['0', 1],
    ['1', 0],
    ['49%', 1],
    ['50%', 0],
  ])('lets devices be silent: --allow-silent %s', async (allowed, expected) => {
    let now = 1_800_000_000_000;
    const manager = await startManager({ files: FILES, now: () => now });
    await converge(manager, 'old');
    now += 700_000;
    await converge(manager, 'new');
    expect((await ask(manager, 'status', '--allow-silent', allowed)).code).toBe(expected);
  });

  it('is not fine once a device has been behind for more than 15 minutes', async () => {
    let now = 1_800_000_000_000;
    const manager = await startManager({ files: FILES, now: () => now });
    await manager.get('/api/v2/device_groups/edge/info', { headers: { 'holdfast-device': 'pos-1' } });
    await converge(manager, 'pos-1');
    await manager.put('/api/v2/apps/web/update', { container_image: 'web:2' });
    now += 60_000;
    expect((await runStatus(manager, now)).code).toBe(0);
    now += 500_000;
    await pollAgain(manager);
    now += 500_000;
    await pollAgain(manager);
    const { code, out } = await runStatus(manager, now);
    expect(out).toContain('behind for more than 15 minutes');
    expect(out).toMatch(/^pos-1 +edge +behind .* lacks app\/web$/m);
    expect(code).toBe(1);
  });

  it.each<[string, string[], Record<string, string>, number, RegExp]>([
    ['no manager', [], {}, 2, /name a manager/],
    ['a wrong number', ['--allow-silent', 'few'], {}, 2, /--allow-silent takes/],
    ['no answer', [], { HOLDFAST: 'http://127.0.0.1:1' }, 3, /cannot be reached/],
  ])('ends with %s', async (_, args, env, code, message) => {
    const result = await runCli(['status', ...args], { env });
    expect(result.code).toBe(code);
    expect(result.err).toMatch(message);
  });

  it('ends with 3 and says what is missing without access', async () => {
    const manager = await startManager({ files: FILES });
    const { code, err } = await runCli(['status'], {
      env: { HOLDFAST: manager.service.address, CREDENTIALS: 'x:y' },
    });
    expect(code).toBe(3);
    expect(err).toContain('rejects the credentials of CREDENTIALS');
  });
});

/** The device polls again, and says that it has what it had. */
async function pollAgain(manager: TestManager): Promise<void> {
  const { body } = await manager.get('/api/v2/devices/pos-1');
  const path = '/api/v2/device_groups/edge/info';
  const [fleet = ''] = ((await manager.get(path)).headers.get('etag') ?? '').slice(1).split('.');
  await manager.get(path, {
    headers: { 'holdfast-device': 'pos-1', 'if-none-match': `"${fleet}.${body.has.seq}-old"` },
  });
}

/** Runs `status` at this time. */
function runStatus(manager: TestManager, now: number): Promise<CommandResult> {
  return runCli(['status'], { env: { HOLDFAST: manager.service.address, CREDENTIALS }, now: () => now });
}

describe('with a fleet', () => {
  const suite = suiteManager({ files: FILES }, async (manager) => {
    for (const device of ['pos-1', 'pos-2']) await converge(manager, device);
    await fail(manager, 'pos-2', 'no such image');
  });

  it('devices lists the ones that match', async () => {
    const { code, out } = await ask(suite(), 'devices');
    expect(code).toBe(0);
    expect(out.split('\n').map((line) => line.split(/ +/).slice(0, 3).join(' '))).toEqual([
      'DEVICE GROUP STATE',
      'pos-1 edge current',
      'pos-2 edge failed',
      '',
    ]);
    const { out: json } = await ask(suite(), 'devices', '--state', 'failed', '--format', 'json');
    expect(JSON.parse(json).devices).toMatchObject([{ device: 'pos-2', worker: '1.2.0' }]);
    const none = await ask(suite(), 'devices', '--group', 'nowhere');
    expect([none.code, none.out, none.err]).toEqual([0, '', 'No device matches.\n']);
    expect(await ask(suite(), 'devices', '--state', 'fine')).toMatchObject({ code: 2 });
  });

  it('plan --devices-from says how many devices do something', async () => {
    const manager = suite();
    const folder = join(manager.repository.folder, 'desired-state');
    await writeFile(join(folder, 'apps/web.yaml'), 'container_image: web:9\n');
    const env = { CREDENTIALS };
    const run = (...args: string[]) =>
      runCli(['plan', folder, '--devices-from', manager.service.address, ...args], { env });
    expect((await run()).out).toContain('  web restarts on edge, lab: 2 devices\n');
    expect((await run('--format', 'markdown')).out).toContain(
      '| `web` | **restarts** | `edge`, `lab`: 2 devices |',
    );
    expect(JSON.parse((await run('--format', 'json')).out).effects).toMatchObject([
      { app: 'web', devices: 2, silent: 0 },
    ]);
    expect((await runCli(['plan', folder, '--devices-from', 'x'], { env })).code).toBe(2);
    await manager.repository.git('checkout', '--quiet', '--', '.');
  });
});

describe('holdfast restart, start, stop and prune', () => {
  it('do what the API does, with a reason, and say what they would do', async () => {
    const manager = await startManager({ files: FILES });
    await converge(manager, 'pos-1');
    const { out: dry } = await ask(manager, 'restart', 'web', '--dry-run');
    expect(dry).toBe('web would restart on edge, lab: 1 device\n');
    expect((await ask(manager, 'restart', 'web', '--reason', 'stuck')).out).toMatch(
      /^app web: restart sent, app_id \d+\n$/,
    );
    expect((await ask(manager, 'stop', 'web')).code).toBe(0);
    expect((await manager.get('/api/v2/apps/web')).body.running).toBe(false);
    expect((await ask(manager, 'start', 'web')).code).toBe(0);
    expect((await ask(manager, 'prune', 'edge')).out).toBe('device group edge: prune sent\n');
    expect((await ask(manager, 'prune', '--dry-run')).out).toBe(
      '2 device groups would remove unused images\n',
    );
    expect((await ask(manager, 'prune')).out).toBe('all device groups: prune sent\n');
    const { body } = await manager.get('/api/v2/operations');
    expect(body.operations.map(({ action, reason }: Record<string, unknown>) => [action, reason])).toEqual([
      ['prune-all', null],
      ['prune', null],
      ['restart', 'stuck'],
    ]);
  });

  it.each<[string, string[], number, RegExp]>([
    ['an unknown app', ['restart', 'nothing'], 2, /there is no such app: nothing/],
    ['no app', ['stop'], 2, /holdfast stop APP/],
    ['what is no name', ['restart', '../x'], 2, /no name/],
    ['an unknown group', ['prune', 'nothing'], 2, /there is no such device group: nothing/],
  ])('refuse %s', async (_, args, code, message) => {
    const manager = await startManager({ files: FILES });
    const result = await ask(manager, ...args);
    expect(result.err).toMatch(message);
    expect(result.code).toBe(code);
  });
});

describe('how many devices something acts on', () => {
  it('is in previews, plans and the history; null while no device is known', async () => {
    const manager = await startManager({ files: FILES });
    const preview = () => manager.put('/api/v2/apps/web/update?dry_run=true', { container_image: 'web:2' });
    expect((await preview()).body.effects).toMatchObject([{ app: 'web', devices: null }]);
    for (const device of ['a', 'b']) await converge(manager, device);
    await converge(manager, 'c', 'lab');
    expect((await preview()).body.effects).toMatchObject([
      { app: 'web', groups: ['edge', 'lab'], devices: 3 },
    ]);
    expect((await manager.post('/api/v2/apps/web/restart?dry_run=true')).body.effects).toMatchObject([
      { devices: 3 },
    ]);
    await manager.put('/api/v2/apps/web/update', { container_image: 'web:2' });
    await manager.post('/api/v2/device_groups/lab/prune');
    await manager.post('/api/v2/prune');
    const { body } = await manager.get('/api/v2/history?page_size=3');
    expect(body.entries.map(({ kind, devices }: Record<string, unknown>) => [kind, devices])).toEqual([
      ['prune-all', 3],
      ['prune', 1],
      ['commit', 3],
    ]);
    expect(body.entries[2].effects).toMatchObject([{ app: 'web', devices: 3 }]);
  });
});
