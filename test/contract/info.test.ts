import { describe, expect, it } from 'vitest';
import { SMALL_FLEET, startManager, type TestManager } from '../support/manager.ts';
import { sendRaw } from '../support/raw-request.ts';
import { suiteManager } from '../support/suite.ts';
import { appRecord } from './expected.ts';

const FILES = { ...SMALL_FLEET, 'device-groups/lab.yaml': 'apps: [cron]\n' };
const EDGE = '/api/v2/device_groups/edge';
const INFO = `${EDGE}/info`;
const WRONG = `Basic ${Buffer.from('operator:wrong').toString('base64')}`;
/** A cache that would be stale for an hour. */
const LONG_CACHE = { CACHE_TIME: '3600' };

describe('api-v2.md: 2.3 Device group info', () => {
  const manager = suiteManager({ files: FILES });

  it('GET .../info: 200 with prune_id, apps_list, apps, device_group_id', async () => {
    const reply = await manager().get(INFO);
    const { body: group } = await manager().get(EDGE);
    expect(reply.status).toBe(200);
    expect(reply.headers.get('content-type')).toMatch(/^application\/json\b/);
    expect(reply.body).toEqual({
      prune_id: group.prune_id,
      apps_list: ['web', 'cron'],
      apps: [
        appRecord('web', { container_image: 'nginx:1.26', starting_ports: [80] }),
        appRecord('cron', { container_image: 'cron:3', running: false }),
      ],
      device_group_id: group.device_group_id,
    });
  });

  it('apps: full app records, those of GET /api/v2/apps/{app_name}', async () => {
    const { body } = await manager().get(INFO);
    for (const app of body.apps)
      expect((await manager().get(`/api/v2/apps/${app.app_name}`)).body).toEqual(app);
  });
});

describe('decisions.md: Info, prune, status: cache_time', () => {
  const info = async (manager: TestManager, group = 'edge') =>
    (await manager.get(`/api/v2/device_groups/${group}/info`)).body;

  it.each([
    ['a partial update', (m: TestManager) => m.put('/api/v2/apps/web/update', { privileged: true })],
    ['a stop', (m: TestManager) => m.post('/api/v2/apps/web/stop')],
    ['a restart of a running app', (m: TestManager) => m.post('/api/v2/apps/web/restart')],
    ['a restart of a stopped app', (m: TestManager) => m.post('/api/v2/apps/cron/restart')],
    ['a prune of the group', (m: TestManager) => m.post(`${EDGE}/prune`)],
    ['a prune of all', (m: TestManager) => m.post('/api/v2/prune')],
    ['an update of the group', (m: TestManager) => m.put(`${EDGE}/update`, { apps: ['cron', 'web'] })],
    ['a delete of an app', (m: TestManager) => m.delete('/api/v2/apps/web')],
    [
      'a commit of a person',
      async (m: TestManager) => {
        await m.repository.commit({ 'desired-state/apps/web.yaml': 'container_image: nginx:1.27\n' });
        return m.reconcile();
      },
    ],
  ])('a change reconciled by the same process drops the entry at once: %s', async (_, change) => {
    const manager = await startManager({ files: FILES, settings: LONG_CACHE });
    const before = await info(manager);
    const etag = (await manager.get(INFO)).headers.get('etag') ?? '';
    expect((await change(manager)).status).toBeLessThan(300);
    const reply = await manager.get(INFO, { headers: { 'if-none-match': etag } });
    expect(reply.status).toBe(200);
    expect(reply.body).not.toEqual(before);
    const { body: group } = await manager.get(EDGE);
    expect(reply.body.apps_list).toEqual(group.apps);
    expect(reply.body.prune_id).toBe(group.prune_id);
    for (const app of reply.body.apps)
      expect((await manager.get(`/api/v2/apps/${app.app_name}`)).body).toEqual(app);
  });

  it('a change of one group drops the entries of no other', async () => {
    const manager = await startManager({ files: FILES, settings: LONG_CACHE });
    const lab = await manager.get('/api/v2/device_groups/lab/info');
    await manager.put('/api/v2/apps/web/update', { privileged: true });
    const again = await manager.get('/api/v2/device_groups/lab/info');
    expect(again.text).toBe(lab.text);
    expect(again.headers.get('etag')).toBe(lab.headers.get('etag'));
  });

  it('a group that is deleted is unknown at once, and known at once when it comes back', async () => {
    const manager = await startManager({ files: FILES, settings: LONG_CACHE });
    const before = await info(manager);
    await manager.delete(EDGE);
    expect((await manager.get(INFO)).body).toEqual({ device_group_exists: false });
    await manager.post(EDGE, { apps: ['web', 'cron'] });
    const after = await info(manager);
    expect(after.apps_list).toEqual(before.apps_list);
    expect(after.device_group_id).toBeGreaterThan(before.device_group_id);
    expect(after.prune_id).toBeGreaterThan(before.prune_id);
  });

  it('an app that joins a group is part of its entry from then on', async () => {
    const manager = await startManager({ files: FILES, settings: LONG_CACHE });
    await info(manager, 'lab');
    await manager.put('/api/v2/device_groups/lab/update', { apps: ['cron', 'web'] });
    await info(manager, 'lab');
    await manager.put('/api/v2/apps/web/update', { container_image: 'nginx:1.28' });
    expect((await info(manager, 'lab')).apps[1].container_image).toBe('nginx:1.28');
  });

  it.each(['0', '10'])('setting CACHE_TIME %s: replies are the same', async (seconds) => {
    const manager = await startManager({ files: FILES, settings: { CACHE_TIME: seconds } });
    const [first, second] = [await manager.get(INFO), await manager.get(INFO)];
    expect(second.text).toBe(first.text);
    expect(second.headers.get('etag')).toBe(first.headers.get('etag'));
    await manager.post('/api/v2/apps/web/restart');
    expect((await info(manager)).apps[0].app_id).toBe(first.body.apps[0].app_id + 1);
  });

  it('a new process serves what the store has', async () => {
    const manager = await startManager({ files: FILES, settings: LONG_CACHE });
    await manager.post('/api/v2/apps/web/restart');
    const before = await manager.get(INFO);
    const next = await manager.restart();
    const after = await next.get(INFO);
    expect(after.body).toEqual(before.body);
    expect(after.headers.get('etag')).toBe(before.headers.get('etag'));
  });
});

describe('decisions.md: Everything else: what a worker takes for the end', () => {
  it('is not said of a group that has a file, also where the store was lost while an app of it is invalid', async () => {
    const files = {
      'apps/web.yaml': 'container_image: nginx:1\n',
      'apps/db.yaml': 'container_image: redis:7\n',
      'device-groups/edge.yaml': 'apps: [web, db]\n',
    };
    const manager = await startManager({ files });
    const path = '/api/v2/device_groups/edge/info';
    await manager.repository.commit({ 'desired-state/apps/db.yaml': 'running: maybe\n' });
    await manager.reconcile();
    expect((await manager.get(path)).status).toBe(200);
    await manager.stop();
    const again = await startManager({ repository: manager.repository });
    const reply = await again.get(path);
    expect([reply.status, reply.headers.get('content-type')]).toEqual([503, 'text/plain; charset=utf-8']);
    expect((await again.get('/api/v2/device_groups/other/info')).status).toBe(403);
    await again.repository.commit({ 'desired-state/apps/db.yaml': 'container_image: redis:8\n' });
    await again.reconcile();
    expect((await again.get(path)).body.apps_list).toEqual(['web', 'db']);
  });
});

describe('decisions.md: Info, prune, status: Who may read a cached reply', () => {
  const manager = suiteManager({ files: FILES, settings: LONG_CACHE }, (m) => m.get(INFO));

  it('authentication comes before the cache, always, and a 401 is cached for nobody', async () => {
    const etag = (await manager().get(INFO)).headers.get('etag') ?? '';
    for (const authorization of [null, WRONG, 'Basic', 'Bearer x']) {
      for (const headers of [{}, { 'if-none-match': etag }] as Record<string, string>[]) {
        const reply = await manager().get(INFO, { authorization, headers });
        expect(reply.status).toBe(401);
        expect(reply.body).toEqual({ access_allowed: false });
        expect(reply.headers.get('etag')).toBeNull();
      }
      expect((await manager().get(INFO)).status).toBe(200);
    }
  });

  it('permission comes before the cache, always', async () => {
    const reply = await sendRaw(manager(), { path: INFO, headers: { origin: 'https://evil.example' } });
    expect(reply.status).toBe(403);
    expect(reply.text).not.toContain('nginx');
  });
});

describe('decisions.md: Info, prune, status: Conditional polling', () => {
  const manager = suiteManager({ files: FILES });
  const etagNow = async () => (await manager().get(INFO)).headers.get('etag') ?? '';

  it('a strong ETag, the same as long as the reply is', async () => {
    const etag = await etagNow();
    expect(etag).toMatch(/^"[^"]+"$/);
    expect(await etagNow()).toBe(etag);
  });

  it.each([
    ['the tag', (etag: string) => etag],
    ['a list with the tag', (etag: string) => `"x", ${etag}, "y"`],
    ['the weak form of the tag', (etag: string) => `W/${etag}`],
    ['a star', () => '*'],
  ])('If-None-Match gives 304: %s', async (_, header) => {
    const etag = await etagNow();
    const reply = await manager().get(INFO, { headers: { 'if-none-match': header(etag) } });
    expect(reply.status).toBe(304);
    expect(reply.text).toBe('');
    expect(reply.headers.get('etag')).toBe(etag);
    expect(reply.headers.get('holdfast-revision')).toMatch(/^[0-9a-f]{40}$/);
  });

  it.each([
    ['another tag', () => '"x"'],
    ['the tag without quotes', (etag: string) => etag.slice(1, -1)],
    ['a part of the tag', (etag: string) => `${etag.slice(0, -2)}"`],
    ['nothing', () => ''],
    ['a list without the tag', () => '"x", "y"'],
  ])('If-None-Match with %s gives 200 with the body', async (_, header) => {
    const etag = await etagNow();
    const reply = await manager().get(INFO, { headers: { 'if-none-match': header(etag) } });
    expect(reply.status).toBe(200);
    expect(reply.body.apps).toHaveLength(2);
  });

  it('a tag of before gives 200 after a change', async () => {
    const etag = await etagNow();
    await manager().post(`${EDGE}/prune`);
    const reply = await manager().get(INFO, { headers: { 'if-none-match': etag } });
    expect(reply.status).toBe(200);
    expect(reply.headers.get('etag')).not.toBe(etag);
  });

  it('HEAD is GET without the body, also with a condition', async () => {
    const etag = await etagNow();
    const head = await manager().request('HEAD', INFO);
    expect(head.status).toBe(200);
    expect(head.text).toBe('');
    expect(head.headers.get('etag')).toBe(etag);
    const reply = await manager().request('HEAD', INFO, { headers: { 'if-none-match': etag } });
    expect(reply.status).toBe(304);
  });

  it('an unknown group is unknown under any condition', async () => {
    const path = '/api/v2/device_groups/nope/info';
    const reply = await manager().get(path, { headers: { 'if-none-match': '*' } });
    expect(reply.status).toBe(403);
    expect(reply.body).toEqual({ device_group_exists: false });
  });
});

it.each(['GET', 'HEAD'])('a 304 tells no length: %s', async (method) => {
  const manager = await startManager({ files: SMALL_FLEET });
  const path = '/api/v2/device_groups/edge/info';
  const etag = (await sendRaw(manager, { path })).headers.etag ?? '';
  const reply = await sendRaw(manager, { method, path, headers: { 'if-none-match': etag } });
  expect([reply.status, reply.text, reply.headers.etag]).toEqual([304, '', etag]);
  expect(reply.headers['content-length']).toBeUndefined();
  expect(reply.headers['content-type']).toBeUndefined();
});
