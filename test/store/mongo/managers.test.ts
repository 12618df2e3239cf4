import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';
import { SMALL_FLEET, startManager, type TestManager } from '../../support/manager.ts';
import { MongoProxy } from '../../support/mongo-proxy.ts';
import { dropDatabase, newDatabase, SERVER } from './test-database.ts';

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

/** Starts a manager on the database of this test, through the proxy; without `repository` it makes a new one. */
function startOnDatabase(repository?: TestManager['repository'], cacheTime = '0'): Promise<TestManager> {
  return startManager({
    ...(repository === undefined ? { files: SMALL_FLEET } : { repository }),
    settings: { MONGODB_URI: proxy.uri, MONGODB_DATABASE: database, CACHE_TIME: cacheTime },
  });
}

/** The ids of the app `web` and of the group `edge` that a manager serves. */
async function idsAt(manager: TestManager): Promise<{ app: number; group: number; prune: number }> {
  const { body } = await manager.get(INFO);
  const [web] = body.apps.filter((app: { app_name: string }) => app.app_name === 'web');
  return { app: web.app_id, group: body.device_group_id, prune: body.prune_id };
}

function logLines(manager: TestManager): string[] {
  return manager.log.map(({ msg }) => String(msg));
}

describe.skipIf(SERVER.isMissing)('a manager that moves to another store', SERVER.limits, () => {
  it('goes on with the ids of the old one, to MongoDB and back, and raises the next one above them', async () => {
    const inFile = await startManager({ files: SMALL_FLEET });
    for (let count = 0; count < 3; count += 1) await inFile.post('/api/v2/apps/web/restart');
    const before = await idsAt(inFile);
    await inFile.stop();
    const inDatabase = await startOnDatabase(inFile.repository);
    expect(await idsAt(inDatabase)).toEqual(before);
    await inDatabase.stop();
    const back = await startManager({ repository: inFile.repository });
    expect(await idsAt(back)).toEqual(before);
    await back.post('/api/v2/apps/web/restart');
    expect((await idsAt(back)).app).toBeGreaterThan(before.app);
  });
});

describe.skipIf(SERVER.isMissing)('two managers on one database', SERVER.limits, () => {
  it('serve the same ids, whichever of them raised one', async () => {
    const first = await startOnDatabase();
    const second = await startOnDatabase(first.repository);
    const before = await idsAt(first);
    expect(await idsAt(second)).toEqual(before);
    expect((await first.post('/api/v2/apps/web/restart')).status).toBe(202);
    expect((await second.post('/api/v2/prune')).status).toBe(202);
    const after = { ...before, app: before.app + 1, prune: before.prune + 1 };
    expect(await idsAt(first)).toEqual(after);
    expect(await idsAt(second)).toEqual(after);
  });

  it('raise no id twice for one commit, and drop cached replies that the other’s pass made outdated', async () => {
    const first = await startOnDatabase(undefined, '3600');
    const second = await startOnDatabase(first.repository, '3600');
    const before = await idsAt(second);
    const written = await first.put('/api/v2/apps/web/update', { container_image: 'nginx:2' });
    expect(written.status).toBe(202);
    const reconciled = await second.reconcile();
    expect(reconciled.body).toMatchObject({
      state: 'applied',
      revision_applied: written.headers.get('holdfast-revision'),
    });
    expect(await idsAt(second)).toEqual({ ...before, app: before.app + 1 });
    expect(await idsAt(first)).toEqual({ ...before, app: before.app + 1 });
    expect(logLines(second).filter((line) => line === 'pass failed')).toEqual([]);
  });

  it('can write alternately, each on top of the other’s commit', async () => {
    const first = await startOnDatabase();
    const second = await startOnDatabase(first.repository);
    for (const [index, manager] of [first, second, first, second].entries()) {
      const reply = await manager.put('/api/v2/apps/web/update', { container_image: `nginx:${index}` });
      expect(reply.status, reply.text).toBe(202);
    }
    const { body } = await first.get('/api/v2/apps/web');
    expect(body.container_image).toBe('nginx:3');
    expect(await idsAt(second)).toEqual(await idsAt(first));
  });
});

describe.skipIf(SERVER.isMissing)(
  'a rollback through one of two managers on one database',
  SERVER.limits,
  () => {
    it('gives one higher id, which both serve, and one entry that both have', async () => {
      const first = await startOnDatabase();
      const second = await startOnDatabase(first.repository);
      const before = await idsAt(first);
      expect((await first.put('/api/v2/apps/web/update', { container_image: 'nginx:2' })).status).toBe(202);
      const undone = await second.post('/api/v2/rollback', { undo: 'main', reason: 'a reason' });
      expect(undone.body.ids).toEqual({ 'app/web': before.app + 2 });
      await Promise.all([first.reconcile(), second.reconcile()]);
      for (const manager of [first, second]) {
        expect((await idsAt(manager)).app).toBe(before.app + 2);
        const { entries } = (await manager.get('/api/v2/history')).body;
        expect(entries).toHaveLength(3);
        expect(entries[0]).toMatchObject({
          revision: undone.body.revision,
          changes: [{ object: 'app/web', ids: { app_id: before.app + 2 } }],
        });
      }
    });
  },
);

describe.skipIf(SERVER.isMissing)('a manager on MongoDB', SERVER.limits, () => {
  it('logs the product and version of the server, but no connection string', async () => {
    const manager = await startOnDatabase();
    const reached = manager.log.find(({ msg }) => msg === 'connected to the store');
    expect(reached).toMatchObject({ product: expect.any(String), version: expect.any(String), database });
    expect(JSON.stringify(manager.log)).not.toContain('mongodb://');
  });

  it('recovers without a restart if the server was away at its start; until then /info is 503 as plain text', async () => {
    proxy.goAway();
    const manager = await startOnDatabase();
    expect(logLines(manager)).toContainEqual(expect.stringContaining('the store cannot be reached'));
    const info = await manager.get(INFO);
    expect(info.status).toBe(503);
    expect(info.headers.get('content-type')).toContain('text/plain');
    expect((await manager.get('/readyz')).status).toBe(503);
    expect((await manager.get('/healthz')).status).toBe(200);
    expect((await manager.get('/api/v2/status')).body).toEqual({ api_available: false });
    proxy.comeBack();
    await vi.waitFor(async () => {
      await manager.reconcile();
      expect((await manager.get(INFO)).status).toBe(200);
    }, LIMITS);
    expect((await manager.get('/readyz')).status).toBe(200);
  });

  it('serves the last good replies while the server is away, refuses writes with 503, and recovers without a restart', async () => {
    const manager = await startOnDatabase();
    const good = await manager.get(INFO);
    const head = await manager.repository.git('rev-parse', 'HEAD');
    proxy.goAway();
    const held = await manager.get(INFO);
    expect([held.status, held.text]).toEqual([200, good.text]);
    expect((await manager.get('/readyz')).status).toBe(503);
    expect((await manager.get('/api/v2/status')).status).toBe(503);
    expect((await manager.post('/api/v2/apps/web/restart')).status).toBe(503);
    expect((await manager.put('/api/v2/apps/web/update', { container_image: 'nginx:9' })).status).toBe(503);
    expect(await manager.repository.git('rev-parse', 'HEAD')).toBe(head);
    expect((await manager.reconcile()).body).toMatchObject({
      state: 'failing',
      error: { kind: 'unavailable' },
    });
    proxy.comeBack();
    await vi.waitFor(async () => expect((await manager.get('/readyz')).status).toBe(200), LIMITS);
    expect((await manager.reconcile()).body.state).toBe('applied');
    expect((await manager.put('/api/v2/apps/web/update', { container_image: 'nginx:9' })).status).toBe(202);
  });

  it('serves the last good reply while the server does not answer', async () => {
    const manager = await startOnDatabase();
    const good = await manager.get(INFO);
    proxy.judge((command) => (command === 'find' ? 'hang' : 'pass'));
    const held = await manager.get(INFO);
    expect([held.status, held.text]).toEqual([200, good.text]);
    proxy.judge(() => 'pass');
    proxy.closeAll();
    await vi.waitFor(async () => expect((await manager.get('/readyz')).status).toBe(200), LIMITS);
  });
});
