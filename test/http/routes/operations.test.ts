import { join } from 'node:path';
import { DatabaseSync } from '@photostructure/sqlite';
import { describe, expect, it, onTestFinished } from 'vitest';
import { PASSWORD, SMALL_FLEET, startManager, type TestManager, USER } from '../../support/manager.ts';
import { suiteManager } from '../../support/suite.ts';

const URL = '/api/v2/operations';

interface Entry {
  id: number;
  at: string;
  action: string;
  name: string | null;
}

/** Executes this SQL in the store of the manager. */
function inStore({ dataFolder }: TestManager, sql: string): void {
  const db = new DatabaseSync(join(dataFolder, 'store.sqlite'), { timeout: 1000 });
  onTestFinished(() => db.close());
  db.exec(sql);
}

describe('GET /api/v2/operations', () => {
  const manager = suiteManager({ files: SMALL_FLEET }, async (m) => {
    await m.post('/api/v2/apps/web/restart', undefined, { headers: { 'x-request-id': 'one' } });
    await m.post('/api/v2/device_groups/edge/prune', undefined, { headers: { 'x-request-id': 'two' } });
    await m.post('/api/v2/prune', undefined, { headers: { 'x-request-id': 'three' } });
    await m.post('/api/v2/apps/cron/restart', undefined, { headers: { 'x-request-id': 'four' } });
  });
  const page = async (query = ''): Promise<Entry[]> => (await manager().get(URL + query)).body.operations;

  it('returns who did what, when, and the ids that resulted, newest first', async () => {
    const { status, body } = await manager().get(URL);
    expect(status).toBe(200);
    const [id, at] = [expect.any(Number), expect.stringMatching(/^\d{4}-\d\d-\d\dT[\d:]+\.\d{3}Z$/)];
    const common = { id, at, actor: USER };
    // The restart of a stopped app starts it by a commit, but is logged like any other.
    const web = (await manager().get('/api/v2/apps/web')).body.app_id;
    const cron = (await manager().get('/api/v2/apps/cron')).body.app_id;
    const prune = (await manager().get('/api/v2/device_groups/edge')).body.prune_id;
    expect(body).toEqual({
      operations: [
        { ...common, reason: null, action: 'restart', name: 'cron', request_id: 'four', ids: { cron } },
        {
          ...common,
          reason: null,
          action: 'prune-all',
          name: null,
          request_id: 'three',
          ids: { edge: prune },
        },
        {
          ...common,
          reason: null,
          action: 'prune',
          name: 'edge',
          request_id: 'two',
          ids: { edge: prune - 1 },
        },
        { ...common, reason: null, action: 'restart', name: 'web', request_id: 'one', ids: { web } },
      ],
      next: null,
    });
  });

  it('returns the next page for `next` as `after`', async () => {
    const all = await page();
    const ids = all.map(({ id }) => id);
    expect(ids).toEqual([...ids].sort((a, b) => b - a));
    const first = (await manager().get(`${URL}?page_size=3`)).body;
    expect(first).toEqual({ operations: all.slice(0, 3), next: String(ids[2]) });
    const second = (await manager().get(`${URL}?page_size=3&after=${first.next}`)).body;
    expect(second).toEqual({ operations: all.slice(3), next: null });
    expect(await page(`?after=${ids[3]}`)).toEqual([]);
    expect(await page('?after=999999999999999&page_size=1000')).toEqual(all);
  });

  it('has each operation as an entry of the history with the same number', async () => {
    const { entries } = (await manager().get('/api/v2/history?kind=restart,prune,prune-all')).body;
    expect(entries.map(({ n, kind }: { n: number; kind: string }) => [n, kind])).toEqual(
      (await page()).map(({ id, action }) => [id, action]),
    );
  });

  it.each([
    ['page_size=0', 'page_size'],
    ['page_size=1001', 'page_size'],
    ['page_size=', 'page_size'],
    ['page_size=ten', 'page_size'],
    ['page_size=1&page_size=2', 'page_size'],
    ['after=', 'after'],
    ['after=1.5', 'after'],
    ['after=1&after=2', 'after'],
    ['after[$gt]=1', 'after[$gt]'],
    ['before=1', 'before'],
  ])('refuses a bad parameter with a 400 that names it: %s', async (query, parameter) => {
    const { status, body } = await manager().get(`${URL}?${query}`);
    expect(status).toBe(400);
    expect(body).toEqual({ invalid_parameters: { [parameter]: expect.any(String) } });
  });

  it('reports every bad parameter at once', async () => {
    const { body } = await manager().get(`${URL}?page_size=x&after=y&colour=red`);
    expect(Object.keys(body.invalid_parameters).sort()).toEqual(['after', 'colour', 'page_size']);
  });

  it('requires credentials, and refuses other methods with 405', async () => {
    const wrong = `Basic ${Buffer.from(`${USER}:${PASSWORD}x`).toString('base64')}`;
    for (const authorization of [null, wrong]) {
      const { status, text } = await manager().get(URL, { authorization });
      expect([status, text]).toEqual([401, '{"access_allowed":false}']);
    }
    const { status, headers } = await manager().delete(URL);
    expect([status, headers.get('allow')]).toEqual([405, 'GET, HEAD, OPTIONS']);
  });

  it('is described in /openapi.json with its parameters and statuses', async () => {
    const { body } = await manager().get('/openapi.json');
    const { get } = body.paths[URL];
    expect(get.parameters).toMatchObject([
      {
        in: 'query',
        name: 'page_size',
        schema: { type: 'integer', minimum: 1, maximum: 1000, default: 50 },
      },
      { in: 'query', name: 'after', schema: { type: 'string' } },
      { in: 'header', name: 'X-Request-Id' },
    ]);
    const statuses = ['200', '400', '401', '403', '421', '500', '503', '408'];
    expect(Object.keys(get.responses).sort()).toEqual(statuses.sort());
  });
});

it('GET /api/v2/operations returns operations from before a restart, and no configuration changes', async () => {
  const first = await startManager({ files: SMALL_FLEET });
  expect((await first.get(URL)).body).toEqual({ operations: [], next: null });
  await first.put('/api/v2/apps/web/update', { container_image: 'nginx:1.27' });
  await first.post('/api/v2/prune');
  const next = await first.restart();
  const { operations } = (await next.get(URL)).body;
  expect(operations.map(({ action }: Entry) => action)).toEqual(['prune-all']);
});

it('GET /api/v2/operations answers 503 while the store cannot be read', async () => {
  const manager = await startManager({ files: SMALL_FLEET });
  inStore(manager, 'ALTER TABLE entries RENAME TO away');
  const { status, body } = await manager.get(URL);
  expect([status, body]).toMatchObject([503, { error: expect.any(String), request_id: expect.any(String) }]);
  inStore(manager, 'ALTER TABLE away RENAME TO entries');
  expect((await manager.get(URL)).status).toBe(200);
});

it('the restart of a stopped app whose operation cannot be stored is a 503 with its commit', async () => {
  const manager = await startManager({ files: SMALL_FLEET });
  inStore(
    manager,
    `CREATE TRIGGER fail BEFORE INSERT ON acts WHEN NEW.body LIKE '%"action":"restart"%'
     BEGIN SELECT RAISE(ABORT, 'boom'); END`,
  );
  const { status, body } = await manager.post('/api/v2/apps/cron/restart');
  const revision = await manager.repository.git('rev-parse', 'HEAD');
  expect([status, body]).toMatchObject([503, { error: expect.any(String), revision, applied: true }]);
  expect((await manager.get('/api/v2/apps/cron')).body.running).toBe(true);
});
