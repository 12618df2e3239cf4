import { describe, expect, it } from 'vitest';
import { runCli } from '../support/command.ts';
import { PASSWORD, startManager, type TestManager, USER } from '../support/manager.ts';

const FILES = {
  'apps/web.yaml': 'container_image: web:1\n',
  'device-groups/edge.yaml': 'apps: [web]\n',
};
const DEVICES = { DEVICE_AUTH_USER: 'devices', DEVICE_AUTH_PASSWORD: 'a password for devices' };
const AS_DEVICE = `Basic ${Buffer.from('devices:a password for devices').toString('base64')}`;

/** Polls as the device; resolves to how many asks wait, as the reply says. */
async function poll(
  manager: TestManager,
  device = 'pos-1',
  more: Record<string, string> = {},
): Promise<string | null> {
  const reply = await manager.get('/api/v2/device_groups/edge/info', {
    authorization: AS_DEVICE,
    headers: { 'holdfast-device': device, ...more },
  });
  return reply.headers.get('holdfast-asks');
}

const asDevice = (manager: TestManager, method: string, path: string, body?: unknown) =>
  manager.request(method, path, { authorization: AS_DEVICE, body, headers: { 'holdfast-device': 'pos-1' } });

const start = async (options: Parameters<typeof startManager>[0] = {}) => {
  const manager = await startManager({ files: FILES, settings: DEVICES, ...options });
  await poll(manager);
  return manager;
};

describe('asks', () => {
  it('wait for the device, which answers at its next poll; and are in the history without the answer', async () => {
    const manager = await start();
    const made = await manager.post('/api/v2/devices/pos-1/asks', {
      kind: 'logs',
      app: 'web',
      lines: 5,
      since: '10m',
    });
    expect(made).toMatchObject({ status: 201, body: { kind: 'logs', app: 'web', state: 'waiting' } });
    const { id } = made.body;
    const info = (await manager.get('/api/v2/device_groups/edge/info')).headers.get('etag') ?? '';
    expect(await poll(manager)).toBe('1');
    expect(await poll(manager, 'pos-1', { 'if-none-match': info })).toBe('1');
    expect(await poll(manager, 'pos-2')).toBeNull();
    expect((await asDevice(manager, 'GET', '/api/v2/devices/pos-1/asks')).body).toEqual({
      asks: [{ id, kind: 'logs', app: 'web', container: null, lines: 5, since: '10m' }],
    });
    const answer = { text: '2026-01-01T00:00:00Z secret line', truncated: true, error: null };
    expect((await asDevice(manager, 'POST', `/api/v2/devices/pos-1/asks/${id}`, answer)).body).toEqual({
      accepted: true,
    });
    expect(await poll(manager)).toBeNull();
    const { body } = await manager.get(`/api/v2/devices/pos-1/asks/${id}`);
    expect(body).toMatchObject({ id, state: 'done', by: 'operator', ...answer });
    expect(body.answered_at).not.toBeNull();
    const history = await manager.get('/api/v2/history?kind=ask');
    expect(history.body.entries).toMatchObject([
      { kind: 'ask', subject: 'app web: logs asked of pos-1', actor: { name: 'operator' }, changes: [] },
    ]);
    expect((await manager.get('/api/v2/operations')).body.operations).toEqual([]);
    expect(JSON.stringify([history.body, manager.log])).not.toContain('secret line');
  });

  it('fail with the reason of the device, expire after ten minutes, and are kept for fifteen', async () => {
    let now = 1_800_000_000_000;
    const manager = await start({ now: () => now });
    const ask = async () =>
      (await manager.post('/api/v2/devices/pos-1/asks', { kind: 'retry', app: 'web' })).body.id;
    const [refused, late] = [await ask(), await ask()];
    const answer = { text: '', truncated: false, error: 'logs are not allowed on this device' };
    await asDevice(manager, 'POST', `/api/v2/devices/pos-1/asks/${refused}`, answer);
    expect((await manager.get(`/api/v2/devices/pos-1/asks/${refused}`)).body).toMatchObject({
      state: 'failed',
      error: answer.error,
    });
    now += 600_000;
    expect((await manager.get(`/api/v2/devices/pos-1/asks/${late}`)).body).toMatchObject({
      state: 'expired',
    });
    for (const id of [refused, late])
      expect(await asDevice(manager, 'POST', `/api/v2/devices/pos-1/asks/${id}`, answer)).toMatchObject({
        status: 403,
        body: { ask_exists: false },
      });
    now += 301_000;
    await expect
      .poll(async () => (await manager.get(`/api/v2/devices/pos-1/asks/${refused}`)).status, {
        timeout: 8000,
      })
      .toBe(403);
  });

  it.each<[string, string, unknown, number, object]>([
    ['a device that nobody knows', 'pos-9', { kind: 'retry', app: 'web' }, 403, { device_exists: false }],
    [
      'what is no name',
      'a b',
      { kind: 'retry', app: 'web' },
      400,
      { invalid_parameters: { device_name: expect.any(String) } },
    ],
    ['another kind', 'pos-1', { kind: 'shell', app: 'web' }, 400, {}],
    [
      'too many lines',
      'pos-1',
      { kind: 'logs', app: 'web', lines: 2001 },
      400,
      { invalid_parameters: { lines: expect.any(String) } },
    ],
    [
      'a time that is none',
      'pos-1',
      { kind: 'logs', app: 'web', since: 'soon' },
      400,
      { invalid_parameters: { since: expect.any(String) } },
    ],
    ['an unknown member', 'pos-1', { kind: 'retry', app: 'web', force: true }, 400, {}],
  ])('are refused: %s', async (_, device, body, status, expected) => {
    const manager = await start();
    const reply = await manager.post(`/api/v2/devices/${encodeURIComponent(device)}/asks`, body);
    expect(reply).toMatchObject({ status, body: expected });
  });

  it('are limited: twenty wait for a device, and an answer has 256 KiB', async () => {
    const manager = await start();
    const ask = () => manager.post('/api/v2/devices/pos-1/asks', { kind: 'retry', app: 'web' });
    const ids = [];
    for (let index = 0; index < 20; index += 1) ids.push((await ask()).body.id);
    const more = await ask();
    expect(more.status).toBe(503);
    expect(more.headers.get('retry-after')).toBe('10');
    const answer = (bytes: number) => ({ text: 'x'.repeat(bytes), truncated: false, error: null });
    const path = `/api/v2/devices/pos-1/asks/${ids[0]}`;
    expect((await asDevice(manager, 'POST', path, answer(262_145))).status).toBe(400);
    expect((await asDevice(manager, 'POST', path, answer(262_144))).status).toBe(200);
    expect((await ask()).status).toBe(201);
  });

  it('are for the device and for operators alone', async () => {
    const manager = await start();
    const { body } = await manager.post('/api/v2/devices/pos-1/asks', { kind: 'retry', app: 'web' });
    const other = (method: string, path: string) =>
      manager.request(method, path, {
        authorization: AS_DEVICE,
        headers: { 'holdfast-device': 'pos-2' },
        body: { text: '', truncated: false, error: null },
      });
    expect((await other('POST', `/api/v2/devices/pos-1/asks/${body.id}`)).status).toBe(403);
    expect(
      (await asDevice(manager, 'POST', '/api/v2/devices/pos-1/asks', { kind: 'retry', app: 'web' })).status,
    ).toBe(403);
    expect((await asDevice(manager, 'GET', `/api/v2/devices/pos-1/asks/${body.id}`)).status).toBe(403);
    expect(
      (
        await manager.get('/api/v2/devices/pos-1/asks', {
          authorization: AS_DEVICE,
          headers: { 'holdfast-device': 'pos-2' },
        })
      ).status,
    ).toBe(403);
  });
});

describe('holdfast logs and retry', () => {
  /** Answers the first ask as the device. */
  async function answerNext(manager: TestManager, answer: object): Promise<void> {
    for (;;) {
      const { body } = await asDevice(manager, 'GET', '/api/v2/devices/pos-1/asks');
      const [ask] = body.asks;
      if (ask === undefined) continue;
      await asDevice(manager, 'POST', `/api/v2/devices/pos-1/asks/${ask.id}`, answer);
      return;
    }
  }
  const run = (manager: TestManager, ...args: string[]) =>
    runCli(args, { env: { HOLDFAST: manager.service.address, CREDENTIALS: `${USER}:${PASSWORD}` } });

  it('print what the device answers, with control characters as text', async () => {
    const manager = await start();
    const text = '2026-01-01T00:00:00Z one\n2026-01-01T00:00:01Z \u001b[31mred\n';
    const [{ code, out, err }] = await Promise.all([
      run(manager, 'logs', 'web', '--device', 'pos-1', '--lines', '2'),
      answerNext(manager, { text, truncated: true, error: null }),
    ]);
    expect(code).toBe(0);
    expect(out).toBe('2026-01-01T00:00:00Z one\n2026-01-01T00:00:01Z \\u001b[31mred\n');
    expect(err).toContain('Older lines were left out');
    const [retried] = await Promise.all([
      run(manager, 'retry', 'web', '--device', 'pos-1'),
      answerNext(manager, { text: '', truncated: false, error: null }),
    ]);
    expect(retried.out).toBe('pos-1 tries web again\n');
  });

  it('end with 3 if the device does not do it, and with 2 if it is not known', async () => {
    const manager = await start();
    const [failed] = await Promise.all([
      run(manager, 'logs', 'web', '--device', 'pos-1'),
      answerNext(manager, { text: '', truncated: false, error: 'logs are not allowed' }),
    ]);
    expect([failed.code, failed.err]).toEqual([3, expect.stringContaining('pos-1: logs are not allowed')]);
    const unknown = await run(manager, 'retry', 'web', '--device', 'pos-9');
    expect([unknown.code, unknown.err]).toEqual([
      2,
      expect.stringContaining('there is no such device: pos-9'),
    ]);
    expect((await run(manager, 'logs', 'web')).code).toBe(2);
  });
});
