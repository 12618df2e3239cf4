import { describe, expect, it } from 'vitest';
import { startManager, type TestManager } from '../../support/manager.ts';
import { startEngine, startWorker, until } from './support.ts';

const DEVICES = { DEVICE_AUTH_USER: 'devices', DEVICE_AUTH_PASSWORD: 'a password for devices' };
const FILES = {
  'apps/web.yaml': 'container_image: example.com/web:v1\ncontainers_per: {server: 2}\n',
  'device-groups/edge.yaml': 'apps: [web]\n',
};

/** A worker on an engine in memory that runs both containers of the app, and its manager. */
async function start(settings: Record<string, string> = {}) {
  const manager = await startManager({ files: FILES, settings: DEVICES });
  const engine = await startEngine();
  const worker = await startWorker({
    manager: manager.service.address,
    engine,
    settings: { ...DEVICES, DEVICE_NAME: 'pos-1', ...settings },
  });
  await until(
    () => worker.status(),
    (status) => status?.apps[0]?.state === 'running',
  );
  return { manager, engine, worker };
}

/** Asks the device, and resolves to the answer. */
async function ask(manager: TestManager, body: object) {
  const { body: made } = await manager.post('/api/v2/devices/pos-1/asks', body);
  return until(
    async () => (await manager.get(`/api/v2/devices/pos-1/asks/${made.id}`)).body,
    ({ state }) => state !== 'waiting',
  );
}

describe('what a device is asked', () => {
  it('logs: the last lines of an app, of several containers by their times, each with its name', async () => {
    const { manager, engine } = await start();
    for (const name of ['web-1', 'web-2']) engine.container(name).log.push(`${name} first`, `${name} second`);
    expect(await ask(manager, { kind: 'logs', app: 'web' })).toMatchObject({
      state: 'done',
      text: [
        '1970-01-01T00:00:00.000Z web-1 | web-1 first',
        '1970-01-01T00:00:00.000Z web-2 | web-2 first',
        '1970-01-01T00:00:01.000Z web-1 | web-1 second',
        '1970-01-01T00:00:01.000Z web-2 | web-2 second',
        '',
      ].join('\n'),
      truncated: false,
      error: null,
    });
    const one = { kind: 'logs', app: 'web', container: 'web-2' };
    expect(await ask(manager, { ...one, lines: 1 })).toMatchObject({
      text: '1970-01-01T00:00:01.000Z web-2 second\n',
      truncated: true,
    });
    expect((await ask(manager, { ...one, since: '1970-01-01T00:00:01Z' })).text).toBe(
      '1970-01-01T00:00:01.000Z web-2 second\n',
    );
    expect((await ask(manager, { ...one, since: '10m' })).text).toBe('');
  });

  it('logs: no more than an answer can have, the newest lines', async () => {
    const { manager, engine } = await start();
    const lines = Array.from({ length: 2000 }, (_, index) => `${index} ${'x'.repeat(400)}`);
    engine.container('web-1').log.push(...lines);
    const { text, truncated } = await ask(manager, {
      kind: 'logs',
      app: 'web',
      container: 'web-1',
      lines: 2000,
    });
    expect(truncated).toBe(true);
    expect(Buffer.byteLength(text)).toBeLessThanOrEqual(262_144);
    expect(text).toContain(`1999 ${'x'.repeat(400)}`);
  });

  it.each<[string, Record<string, string>, object, RegExp]>([
    [
      'logs that this device does not give',
      { ALLOW_LOGS: 'false' },
      { kind: 'logs', app: 'web' },
      /ALLOW_LOGS/,
    ],
    ['logs of an app that is not here', {}, { kind: 'logs', app: 'db' }, /no container of app "db"/],
    ['another try of an app that is not here', {}, { kind: 'retry', app: 'db' }, /no app "db"/],
  ])('refuses %s', async (_, settings, body, reason) => {
    const { manager } = await start(settings);
    expect(await ask(manager, body)).toMatchObject({ state: 'failed', error: expect.stringMatching(reason) });
  });

  it('retry: tries a version again that was taken back', async () => {
    const { manager, engine, worker } = await start();
    await manager.put('/api/v2/apps/web/update', { container_image: 'example.com/web:sick' });
    await until(
      () => worker.status(),
      ({ apps }) => apps[0]?.state === 'rolled_back',
    );
    engine.registry.push('example.com/web:sick', 'sick', { health: 'healthy' });
    expect(await ask(manager, { kind: 'retry', app: 'web' })).toMatchObject({ state: 'done', error: null });
    await until(
      () => worker.status(),
      ({ apps }) => apps[0]?.state === 'running' && apps[0].image === 'example.com/web:sick',
    );
  });
});
