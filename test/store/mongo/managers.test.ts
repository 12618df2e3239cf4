import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';
import { SMALL_FLEET, startManager, type TestManager } from '../../support/manager.ts';
import { MongoProxy } from '../../support/mongo-proxy.ts';
import { dropDatabase, newDatabase, SERVER } from './place.ts';

const INFO = '/api/v2/device_groups/edge/info';
const LIMITS = { timeout: 60_000, interval: 100 };

let database: string;
let proxy: MongoProxy;

beforeEach(async () => {
  if (SERVER.isMissing) return;
  database = newDatabase();
  proxy = await MongoProxy.start(SERVER.uri);
});
afterEach(async () => {
  if (SERVER.isMissing) return;
  await proxy.stop();
  await dropDatabase(database);
});

/** A manager on the database of this test, by way of the proxy. */
function manager(repository?: TestManager['repository'], cacheTime = '0'): Promise<TestManager> {
  return startManager({
    ...(repository === undefined ? { files: SMALL_FLEET } : { repository }),
    settings: { MONGODB_URI: proxy.uri, MONGODB_DATABASE: database, CACHE_TIME: cacheTime },
  });
}

async function idsAt(one: TestManager): Promise<{ app: number; group: number; prune: number }> {
  const { body } = await one.get(INFO);
  const [web] = body.apps.filter((app: { app_name: string }) => app.app_name === 'web');
  return { app: web.app_id, group: body.device_group_id, prune: body.prune_id };
}

function told(one: TestManager): string[] {
  return one.log.map(({ msg }) => String(msg));
}

describe.skipIf(SERVER.isMissing)('two managers on one MongoDB', SERVER.limits, () => {
  it('serve the same fleet; what one raises, the other shows', async () => {
    const first = await manager();
    const second = await manager(first.repository);
    const before = await idsAt(first);
    expect(await idsAt(second)).toEqual(before);
    expect((await first.post('/api/v2/apps/web/restart')).status).toBe(202);
    expect((await second.post('/api/v2/prune')).status).toBe(202);
    const after = { ...before, app: before.app + 1, prune: before.prune + 1 };
    expect(await idsAt(first)).toEqual(after);
    expect(await idsAt(second)).toEqual(after);
  });

  it('follow each other: a pass of one drops the other’s replies, and raises no id again', async () => {
    const first = await manager(undefined, '3600');
    const second = await manager(first.repository, '3600');
    const before = await idsAt(second);
    const written = await first.put('/api/v2/apps/web/update', { container_image: 'nginx:2' });
    expect(written.status).toBe(202);
    const looked = await second.reconcile();
    expect(looked.body).toMatchObject({
      state: 'applied',
      revision_applied: written.headers.get('holdfast-revision'),
    });
    expect(await idsAt(second)).toEqual({ ...before, app: before.app + 1 });
    expect(await idsAt(first)).toEqual({ ...before, app: before.app + 1 });
    expect(told(second).filter((line) => line === 'pass failed')).toEqual([]);
  });

  it('write by turns, each on top of what the other wrote', async () => {
    const first = await manager();
    const second = await manager(first.repository);
    for (const [index, one] of [first, second, first, second].entries()) {
      const reply = await one.put('/api/v2/apps/web/update', { container_image: `nginx:${index}` });
      expect(reply.status, reply.text).toBe(202);
    }
    const { body } = await first.get('/api/v2/apps/web');
    expect(body.container_image).toBe('nginx:3');
    expect(await idsAt(second)).toEqual(await idsAt(first));
  });

  it('say what the server is, and never how to get in', async () => {
    const one = await manager();
    const reached = one.log.find(({ msg }) => msg === 'connected to the store');
    expect(reached).toMatchObject({ product: expect.any(String), version: expect.any(String), database });
    expect(JSON.stringify(one.log)).not.toContain('mongodb://');
  });
});

describe.skipIf(SERVER.isMissing)('a MongoDB that is away', SERVER.limits, () => {
  it('at the start: it is said, devices get 503 as plain text, and all heals without a restart', async () => {
    proxy.goAway();
    const one = await manager();
    expect(told(one)).toContainEqual(expect.stringContaining('the store cannot be reached'));
    const info = await one.get(INFO);
    expect(info.status).toBe(503);
    expect(info.headers.get('content-type')).toContain('text/plain');
    expect((await one.get('/readyz')).status).toBe(503);
    expect((await one.get('/healthz')).status).toBe(200);
    expect((await one.get('/api/v2/status')).body).toEqual({ api_available: false });
    proxy.comeBack();
    await vi.waitFor(async () => {
      await one.reconcile();
      expect((await one.get(INFO)).status).toBe(200);
    }, LIMITS);
    expect((await one.get('/readyz')).status).toBe(200);
  });

  it('later: the last good replies go on, writes get 503, and all heals without a restart', async () => {
    const one = await manager();
    const good = await one.get(INFO);
    const head = await one.repository.git('rev-parse', 'HEAD');
    proxy.goAway();
    const held = await one.get(INFO);
    expect([held.status, held.text]).toEqual([200, good.text]);
    expect((await one.get('/readyz')).status).toBe(503);
    expect((await one.get('/api/v2/status')).status).toBe(503);
    expect((await one.post('/api/v2/apps/web/restart')).status).toBe(503);
    expect((await one.put('/api/v2/apps/web/update', { container_image: 'nginx:9' })).status).toBe(503);
    expect(await one.repository.git('rev-parse', 'HEAD')).toBe(head);
    expect((await one.reconcile()).body).toMatchObject({ state: 'failing', error: { kind: 'unavailable' } });
    proxy.comeBack();
    await vi.waitFor(async () => expect((await one.get('/readyz')).status).toBe(200), LIMITS);
    expect((await one.reconcile()).body.state).toBe('applied');
    expect((await one.put('/api/v2/apps/web/update', { container_image: 'nginx:9' })).status).toBe(202);
  });

  it('silent: a device that was served before waits no longer than its patience', async () => {
    const one = await manager();
    const good = await one.get(INFO);
    proxy.judge((command) => (command === 'find' ? 'hang' : 'pass'));
    const held = await one.get(INFO);
    expect([held.status, held.text]).toEqual([200, good.text]);
    proxy.judge(() => 'pass');
    proxy.closeAll();
    await vi.waitFor(async () => expect((await one.get('/readyz')).status).toBe(200), LIMITS);
  });
});
