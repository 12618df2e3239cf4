import { rename } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { DatabaseSync } from '@photostructure/sqlite';
import { describe, expect, it, onTestFinished } from 'vitest';
import { temporaryFolder } from '../support/folder.ts';
import { SMALL_FLEET, startManager, type TestManager } from '../support/manager.ts';
import { commitCount, expectNothingWritten, managerState } from '../support/manager-state.ts';
import { suiteManager } from '../support/suite.ts';
import { REASON } from './expected.ts';

const WEB = '/api/v2/apps/web';
const INFO = '/api/v2/device_groups/edge/info';

/** Opens the file of the store, as another process would. */
function openStore({ dataFolder }: TestManager): InstanceType<typeof DatabaseSync> {
  const db = new DatabaseSync(join(dataFolder, 'store.sqlite'), { timeout: 1000 });
  onTestFinished(() => void (db.isOpen && db.close()));
  return db;
}

/** Makes queries of state, objects and reports fail; returns a function that repairs the store. */
function breakStore(manager: TestManager): () => void {
  const db = openStore(manager);
  const tables = ['state', 'objects', 'reports'];
  for (const table of tables) db.exec(`ALTER TABLE ${table} RENAME TO away_${table}`);
  return () => {
    for (const table of tables) db.exec(`ALTER TABLE away_${table} RENAME TO ${table}`);
  };
}

/** Expects that a reply has no path of this machine and no part of the source or of a stack. */
function expectNoInternals(text: string, { repository, dataFolder }: TestManager): void {
  for (const internal of [repository.folder, dataFolder, tmpdir(), 'node_modules', 'src/', '.ts', '    at '])
    expect(text.toLowerCase()).not.toContain(internal.toLowerCase());
}

describe('docs/contract.md, 5.7, 7.3, 7.4 and 10.5: faults of the store', () => {
  it('GET /api/v2/status: 503 with api_available: false when the store cannot be reached', async () => {
    const manager = await startManager({ files: SMALL_FLEET });
    expect((await manager.get('/api/v2/status')).body).toEqual({ api_available: true });
    const repair = breakStore(manager);
    const reply = await manager.get('/api/v2/status');
    expect([reply.status, reply.body]).toEqual([503, { api_available: false }]);
    expect((await manager.get('/api/v2/status', { authorization: null })).status).toBe(401);
    expect((await manager.get('/healthz', { authorization: null })).body).toEqual({ status: 'ok' });
    const ready = await manager.get('/readyz', { authorization: null });
    const reason = 'the store does not answer';
    expect([ready.status, ready.body]).toEqual([503, { status: 'unavailable', reason }]);
    repair();
    expect((await manager.get('/api/v2/status')).status).toBe(200);
  });

  it('An unforeseen failure is 500 with a request id, and its cause is in the log alone', async () => {
    const manager = await startManager({ files: SMALL_FLEET, logLevel: 'info' });
    await manager.post('/api/v2/prune');
    expect((await manager.get('/api/v2/operations')).body.operations).toHaveLength(1);
    openStore(manager).exec("UPDATE entry_bodies SET body = x'00'");
    const headers = { 'x-request-id': 'look-me-up' };
    const reply = await manager.get('/api/v2/operations', { headers });
    expect([reply.status, reply.body]).toEqual([500, { error: 'internal error', request_id: 'look-me-up' }]);
    const failures = () => manager.log.filter(({ msg }) => msg === 'request failed');
    await expect.poll(failures).toMatchObject([{ level: 50, status: 500, err: { type: 'Error' } }]);
  });

  it('/info serves the last good reply while the store fails, and still checks credentials', async () => {
    const manager = await startManager({ files: SMALL_FLEET, settings: { CACHE_TIME: '0' } });
    const good = await manager.get(INFO);
    const repair = breakStore(manager);
    const reply = await manager.get(INFO);
    expect(reply.status).toBe(200);
    expect(reply.text).toBe(good.text);
    expect((await manager.get(INFO, { authorization: null })).status).toBe(401);
    repair();
  });

  it('/info answers a passing fault for which it has nothing good to serve with 503 as plain text', async () => {
    const manager = await startManager({ files: SMALL_FLEET });
    const repair = breakStore(manager);
    for (const group of ['edge', 'nope']) {
      const reply = await manager.get(`/api/v2/device_groups/${group}/info`);
      expect(reply.status).toBe(503);
      expect(reply.headers.get('content-type')).toMatch(/^text\/plain\b/);
      expect(reply.body).toBeUndefined();
      expectNoInternals(reply.text, manager);
    }
    repair();
    expect((await manager.get(INFO)).status).toBe(200);
  });

  it('Where the commit landed and only the apply failed: 503 with revision and applied: false; the next pass applies it', async () => {
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

  it('store down, as another process has locked it: restart and prune are 503, nothing changed anywhere', async () => {
    const manager = await startManager({ files: SMALL_FLEET });
    const before = await managerState(manager);
    const other = openStore(manager);
    other.exec('BEGIN IMMEDIATE');
    for (const path of [`${WEB}/restart`, '/api/v2/prune']) {
      const reply = await manager.post(path);
      expect(reply.status).toBe(503);
      expectNoInternals(reply.text, manager);
    }
    other.exec('ROLLBACK');
    expect(await managerState(manager)).toEqual(before);
    expect((await manager.post(`${WEB}/restart`)).status).toBe(202);
  });
});

describe('docs/contract.md, 5.7: while the store fails', () => {
  const manager = suiteManager({ files: SMALL_FLEET });

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
      const body = method === 'GET' ? {} : { body: { container_image: 'x', hostname: 'h' } };
      const headers = { 'x-request-id': 'look-me-up' };
      await expectNothingWritten(manager(), async () => {
        const repair = breakStore(manager());
        const reply = await manager()
          .request(method, path, { ...body, headers })
          .finally(repair);
        expect(reply.status).toBe(503);
        expect(reply.body).toMatchObject({ error: REASON, request_id: 'look-me-up' });
        expectNoInternals(reply.text, manager());
        await manager().reconcile();
      });
    },
  );
});

describe('docs/contract.md, 10.5: faults of the repository', () => {
  /** Moves the repository away from its work tree; returns a function that moves it back. */
  async function hideRepository({ repository }: TestManager): Promise<() => Promise<void>> {
    const git = join(repository.folder, '.git');
    const hidden = join(await temporaryFolder(), 'git');
    await rename(git, hidden);
    return () => rename(hidden, git);
  }

  it('A write that cannot be committed changes nothing anywhere, and says so: 503', async () => {
    const manager = await startManager({ files: SMALL_FLEET });
    const before = await managerState(manager);
    const restore = await hideRepository(manager);
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
      expectNoInternals(reply.text, manager);
    }
    await restore();
    await manager.reconcile();
    expect(await managerState(manager)).toEqual(before);
  });

  it('reads, restarts, prunes and /info succeed while git fails, and GET /api/v2/reconcile has the reason', async () => {
    const manager = await startManager({ files: SMALL_FLEET });
    const restore = await hideRepository(manager);
    await manager.reconcile();
    expect((await manager.get(WEB)).status).toBe(200);
    expect((await manager.get(INFO)).status).toBe(200);
    expect((await manager.post(`${WEB}/restart`)).status).toBe(202);
    expect((await manager.post('/api/v2/prune')).status).toBe(202);
    expect((await manager.get('/readyz')).body).toEqual({ status: 'ok' });
    const { body } = await manager.get('/api/v2/reconcile');
    expect(body.error.message).toMatch(/\S/);
    // Which folder is followed is no secret; nothing else names it.
    expectNoInternals(JSON.stringify({ ...body, origin: null }), manager);
    await restore();
    await manager.reconcile();
    expect((await manager.put(`${WEB}/update`, { privileged: true })).status).toBe(202);
  });
});
