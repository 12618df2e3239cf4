import { rename } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { DatabaseSync } from '@photostructure/sqlite';
import { describe, expect, it, onTestFinished } from 'vitest';
import { temporaryFolder } from '../support/folder.ts';
import { SMALL_FLEET, startManager, type TestManager } from '../support/manager.ts';
import { commitCount, managerState } from '../support/manager-state.ts';
import { REASON } from './expected.ts';

const WEB = '/api/v2/apps/web';
const INFO = '/api/v2/device_groups/edge/info';

/** Another process that works on the store's file. */
function openStore({ dataFolder }: TestManager): InstanceType<typeof DatabaseSync> {
  const db = new DatabaseSync(join(dataFolder, 'store.sqlite'), { timeout: 1000 });
  onTestFinished(() => void (db.isOpen && db.close()));
  return db;
}

/** Makes the store unusable; returns how to mend it. */
function breakStore(manager: TestManager): () => void {
  const db = openStore(manager);
  const tables = ['state', 'objects', 'reports'];
  for (const table of tables) db.exec(`ALTER TABLE ${table} RENAME TO away_${table}`);
  return () => {
    for (const table of tables) db.exec(`ALTER TABLE away_${table} RENAME TO ${table}`);
  };
}

/** Nobody outside learns where on the machine the manager works, or how it is written. */
function expectHarmless(text: string, { repository, dataFolder }: TestManager): void {
  for (const secret of [repository.folder, dataFolder, tmpdir(), 'node_modules', 'src/', '.ts', '    at '])
    expect(text.toLowerCase()).not.toContain(secret.toLowerCase());
}

describe('decisions.md: Writes through the API: faults of the store', () => {
  it('GET /api/v2/status: 503 with api_available: false when the store cannot be reached', async () => {
    const manager = await startManager({ files: SMALL_FLEET });
    expect((await manager.get('/api/v2/status')).body).toEqual({ api_available: true });
    const mend = breakStore(manager);
    const reply = await manager.get('/api/v2/status');
    expect([reply.status, reply.body]).toEqual([503, { api_available: false }]);
    expect((await manager.get('/api/v2/status', { authorization: null })).status).toBe(401);
    expect((await manager.get('/healthz', { authorization: null })).body).toEqual({ status: 'ok' });
    const ready = await manager.get('/readyz', { authorization: null });
    const reason = 'the store does not answer';
    expect([ready.status, ready.body]).toEqual([503, { status: 'unavailable', reason }]);
    mend();
    expect((await manager.get('/api/v2/status')).status).toBe(200);
  });

  it.each([
    ['GET', '/api/v2/apps'],
    ['GET', WEB],
    ['POST', '/api/v2/apps/fresh'],
    ['POST', `${WEB}/stop`],
    ['POST', `${WEB}/restart`],
    ['PUT', `${WEB}/update`],
    ['DELETE', WEB],
    ['GET', '/api/v2/device_groups'],
    ['GET', '/api/v2/device_groups/edge'],
    ['POST', '/api/v2/device_groups/edge/prune'],
    ['POST', '/api/v2/prune'],
    ['GET', '/api/v2/reports'],
  ])(
    'A failure inside is 500 or 503 with a request id, and no stack or path of the machine: %s %s',
    async (method, path) => {
      const manager = await startManager({ files: SMALL_FLEET });
      const before = await managerState(manager);
      const mend = breakStore(manager);
      const body = method === 'GET' ? {} : { body: { container_image: 'x', hostname: 'h' } };
      const reply = await manager.request(method, path, {
        ...body,
        headers: { 'x-request-id': 'look-me-up' },
      });
      expect(reply.status).toBe(503);
      expect(reply.body).toMatchObject({ error: REASON, request_id: 'look-me-up' });
      expectHarmless(reply.text, manager);
      mend();
      await manager.reconcile();
      expect(await managerState(manager)).toEqual(before);
    },
  );

  it('A failure that nobody foresaw is 500, and its cause is in the log alone', async () => {
    const manager = await startManager({ files: SMALL_FLEET, logLevel: 'info' });
    await manager.post('/api/v2/prune');
    openStore(manager).exec("UPDATE operations SET ids = '{'");
    const headers = { 'x-request-id': 'look-me-up' };
    const reply = await manager.get('/api/v2/operations', { headers });
    expect([reply.status, reply.body]).toEqual([500, { error: 'internal error', request_id: 'look-me-up' }]);
    const told = () => manager.log.filter(({ msg }) => msg === 'request failed');
    await expect.poll(told).toMatchObject([{ level: 50, status: 500, err: { type: 'SyntaxError' } }]);
  });

  it('/info goes on with the last good reply while the store fails', async () => {
    const manager = await startManager({ files: SMALL_FLEET, settings: { CACHE_TIME: '0' } });
    const good = await manager.get(INFO);
    const mend = breakStore(manager);
    const reply = await manager.get(INFO);
    expect(reply.status).toBe(200);
    expect(reply.text).toBe(good.text);
    expect((await manager.get(INFO, { authorization: null })).status).toBe(401);
    mend();
  });

  it('/info answers a passing fault for which it has nothing good to serve with 503 as plain text', async () => {
    const manager = await startManager({ files: SMALL_FLEET });
    const mend = breakStore(manager);
    for (const group of ['edge', 'nope']) {
      const reply = await manager.get(`/api/v2/device_groups/${group}/info`);
      expect(reply.status).toBe(503);
      expect(reply.headers.get('content-type')).toMatch(/^text\/plain\b/);
      expect(reply.body).toBeUndefined();
      expectHarmless(reply.text, manager);
    }
    mend();
    expect((await manager.get(INFO)).status).toBe(200);
  });

  it('Where the commit landed and only the apply failed: 503 with revision and applied: false', async () => {
    const manager = await startManager({ files: SMALL_FLEET });
    const { body: before } = await manager.get(WEB);
    const other = openStore(manager);
    other.exec('BEGIN IMMEDIATE');
    const reply = await manager.put(`${WEB}/update`, { container_image: 'nginx:1.27' });
    expect(reply.status).toBe(503);
    const head = await manager.repository.git('rev-parse', 'HEAD');
    expect(reply.body).toMatchObject({ error: REASON, revision: head, applied: false });
    expect(await commitCount(manager.repository)).toBe(2);
    expect((await manager.get(WEB)).body).toEqual(before);
    other.exec('ROLLBACK');
    await manager.reconcile();
    const { body: after } = await manager.get(WEB);
    expect(after).toEqual({ ...before, container_image: 'nginx:1.27', app_id: before.app_id + 1 });
    expect((await manager.get('/api/v2/reconcile')).body.revision_applied).toBe(head);
  });

  it('store down: restart and prune are 503, nothing changed anywhere', async () => {
    const manager = await startManager({ files: SMALL_FLEET });
    const before = await managerState(manager);
    const other = openStore(manager);
    other.exec('BEGIN IMMEDIATE');
    for (const path of [`${WEB}/restart`, '/api/v2/prune']) {
      const reply = await manager.post(path);
      expect(reply.status).toBe(503);
      expectHarmless(reply.text, manager);
    }
    other.exec('ROLLBACK');
    expect(await managerState(manager)).toEqual(before);
    expect((await manager.post(`${WEB}/restart`)).status).toBe(202);
  });
});

describe('decisions.md: Writes through the API: faults of the repository', () => {
  async function away(manager: TestManager): Promise<() => Promise<void>> {
    const git = join(manager.repository.folder, '.git');
    const place = join(await temporaryFolder(), 'git');
    await rename(git, place);
    return () => rename(place, git);
  }

  it('A write that cannot be committed changes nothing anywhere, and says so: 503', async () => {
    const manager = await startManager({ files: SMALL_FLEET });
    const before = await managerState(manager);
    const back = await away(manager);
    for (const [method, path, body] of [
      ['PUT', `${WEB}/update`, { container_image: 'x' }],
      ['POST', '/api/v2/apps/fresh', { container_image: 'x' }],
      ['POST', `${WEB}/stop`, undefined],
      ['DELETE', WEB, undefined],
      ['DELETE', '/api/v2/device_groups/edge', undefined],
    ] as const) {
      const headers = { 'x-request-id': 'look-me-up' };
      const reply = await manager.request(method, path, { body, headers });
      expect(reply.status, path).toBe(503);
      expect(reply.body, path).toMatchObject({ error: REASON, request_id: 'look-me-up' });
      expectHarmless(reply.text, manager);
    }
    await back();
    await manager.reconcile();
    expect(await managerState(manager)).toEqual(before);
  });

  it('reads, restarts, prunes and /info go on while git fails; status says why', async () => {
    const manager = await startManager({ files: SMALL_FLEET });
    const back = await away(manager);
    await manager.reconcile();
    expect((await manager.get(WEB)).status).toBe(200);
    expect((await manager.get(INFO)).status).toBe(200);
    expect((await manager.post(`${WEB}/restart`)).status).toBe(202);
    expect((await manager.post('/api/v2/prune')).status).toBe(202);
    expect((await manager.get('/readyz')).body).toEqual({ status: 'ok' });
    const { body, text } = await manager.get('/api/v2/reconcile');
    expect(body.error.message).toMatch(/\S/);
    expectHarmless(text, manager);
    await back();
    await manager.reconcile();
    expect((await manager.put(`${WEB}/update`, { privileged: true })).status).toBe(202);
  });
});
