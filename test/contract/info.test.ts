import { describe, expect, it } from 'vitest';
import { SMALL_FLEET, startManager, type TestManager } from '../support/manager.ts';
import { sendRaw } from '../support/raw-request.ts';
import { suiteManager } from '../support/suite.ts';
import { appRecord } from './expected.ts';

const FILES = { ...SMALL_FLEET, 'device-groups/lab.yaml': 'apps: [cron]\n' };
const EDGE = '/api/v2/device_groups/edge';
const INFO = `${EDGE}/info`;
const WRONG = `Basic ${Buffer.from('operator:wrong').toString('base64')}`;
/** Entries of the cache stay valid for longer than any test takes. */
const LONG_CACHE = { CACHE_TIME: '3600' };

describe('docs/contract.md, 2.3: What a device polls', () => {
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

describe('docs/contract.md, 7.1: Age', () => {
  const info = async (manager: TestManager, group = 'edge') =>
    (await manager.get(`/api/v2/device_groups/${group}/info`)).body;

  describe('a change reconciled by the same process', () => {
    const manager = suiteManager({ files: FILES, settings: LONG_CACHE });

    // In this order, since the stop and the delete change what the other rows need.
    it.each([
      ['a partial update', (m: TestManager) => m.put('/api/v2/apps/web/update', { privileged: true })],
      ['a restart of a running app', (m: TestManager) => m.post('/api/v2/apps/web/restart')],
      ['a restart of a stopped app', (m: TestManager) => m.post('/api/v2/apps/cron/restart')],
      ['a prune of the group', (m: TestManager) => m.post(`${EDGE}/prune`)],
      ['a prune of all groups', (m: TestManager) => m.post('/api/v2/prune')],
      ['an update of the group', (m: TestManager) => m.put(`${EDGE}/update`, { apps: ['cron', 'web'] })],
      [
        'a commit of a user',
        async (m: TestManager) => {
          await m.repository.commit({ 'desired-state/apps/web.yaml': 'container_image: nginx:1.27\n' });
          return m.reconcile();
        },
      ],
      ['a stop', (m: TestManager) => m.post('/api/v2/apps/web/stop')],
      ['a delete of an app', (m: TestManager) => m.delete('/api/v2/apps/web')],
    ])('drops the entry at once: %s', async (_, change) => {
      const before = await manager().get(INFO);
      const etag = before.headers.get('etag') ?? '';
      expect((await change(manager())).status).toBeLessThan(300);
      const reply = await manager().get(INFO, { headers: { 'if-none-match': etag } });
      expect(reply.status).toBe(200);
      expect(reply.body).not.toEqual(before.body);
      const { body: group } = await manager().get(EDGE);
      expect(reply.body.apps_list).toEqual(group.apps);
      expect(reply.body.prune_id).toBe(group.prune_id);
      for (const app of reply.body.apps)
        expect((await manager().get(`/api/v2/apps/${app.app_name}`)).body).toEqual(app);
    });
  });

  it('a change of one group keeps the entries of the others', async () => {
    const manager = await startManager({ files: FILES, settings: LONG_CACHE });
    const lab = await manager.get('/api/v2/device_groups/lab/info');
    await manager.put('/api/v2/apps/web/update', { privileged: true });
    const again = await manager.get('/api/v2/device_groups/lab/info');
    expect(again.text).toBe(lab.text);
    expect(again.headers.get('etag')).toBe(lab.headers.get('etag'));
  });

  it('a deleted group is unknown at once, and known at once when it is created again', async () => {
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

  it('a change of an app drops the entry of a group that did not list it at first', async () => {
    const manager = await startManager({ files: FILES, settings: LONG_CACHE });
    await info(manager, 'lab');
    await manager.put('/api/v2/device_groups/lab/update', { apps: ['cron', 'web'] });
    await info(manager, 'lab');
    await manager.put('/api/v2/apps/web/update', { container_image: 'nginx:1.28' });
    expect((await info(manager, 'lab')).apps[1].container_image).toBe('nginx:1.28');
  });

  it.each(['0', '10'])(
    'CACHE_TIME=%s: the reply stays the same until a change, and then differs at once',
    async (seconds) => {
      const manager = await startManager({ files: FILES, settings: { CACHE_TIME: seconds } });
      const [first, second] = [await manager.get(INFO), await manager.get(INFO)];
      expect(second.text).toBe(first.text);
      expect(second.headers.get('etag')).toBe(first.headers.get('etag'));
      await manager.post('/api/v2/apps/web/restart');
      expect((await info(manager)).apps[0].app_id).toBe(first.body.apps[0].app_id + 1);
    },
  );

  it('a restarted manager serves the same reply, with the same ETag', async () => {
    const manager = await startManager({ files: FILES, settings: LONG_CACHE });
    await manager.post('/api/v2/apps/web/restart');
    const before = await manager.get(INFO);
    const next = await manager.restart();
    const after = await next.get(INFO);
    expect(after.body).toEqual(before.body);
    expect(after.headers.get('etag')).toBe(before.headers.get('etag'));
  });
});

describe('the order in the ETag of /info', () => {
  const tagOf = async (manager: TestManager, group = 'edge') => {
    const { headers } = await manager.get(`/api/v2/device_groups/${group}/info`);
    const [, fleet, order] = /^"([0-9a-f]{4})\.(\d+)-[\w-]{27}"$/.exec(headers.get('etag') ?? '') ?? [];
    return { fleet, order: Number(order) };
  };

  it('rises with each change that the group shows, and stays the same over a restart of the manager', async () => {
    let manager = await startManager({ files: FILES });
    const first = await tagOf(manager);
    let last = first.order;
    const changes: [string, () => Promise<unknown>][] = [
      ['a restart of an app', () => manager.post('/api/v2/apps/web/restart')],
      ['a prune', () => manager.post(`${EDGE}/prune`)],
      ['an update of an app', () => manager.put('/api/v2/apps/web/update', { privileged: true })],
      ['an update of the group', () => manager.put(`${EDGE}/update`, { apps: ['cron'] })],
      ['a prune of all groups', () => manager.post('/api/v2/prune')],
    ];
    for (const [what, change] of changes) {
      await change();
      const { fleet, order } = await tagOf(manager);
      expect(order, what).toBeGreaterThan(last);
      expect(fleet).toBe(first.fleet);
      last = order;
      manager = await manager.restart();
      expect(await tagOf(manager), `a restart after ${what}`).toEqual({ fleet, order });
    }
  });

  it('stays the same while only other groups change', async () => {
    const manager = await startManager({ files: FILES });
    const before = await tagOf(manager, 'lab');
    await manager.put('/api/v2/apps/web/update', { privileged: true });
    await manager.post(`${EDGE}/prune`);
    expect(await tagOf(manager, 'lab')).toEqual(before);
  });

  it('follows another fleet id after the loss of the store', async () => {
    const manager = await startManager({ files: FILES });
    const before = await tagOf(manager);
    await manager.stop();
    const rebuilt = await startManager({ repository: manager.repository });
    expect((await tagOf(rebuilt)).fleet).not.toBe(before.fleet);
  });
});

describe('docs/contract.md, 7.3: /info answers a passing fault with 503 as plain text', () => {
  it('for a group with a file, if the store was lost while one of its apps was invalid', async () => {
    const files = {
      'apps/web.yaml': 'container_image: nginx:1\n',
      'apps/db.yaml': 'container_image: redis:7\n',
      'device-groups/edge.yaml': 'apps: [web, db]\n',
    };
    const manager = await startManager({ files });
    await manager.repository.commit({ 'desired-state/apps/db.yaml': 'running: maybe\n' });
    await manager.reconcile();
    expect((await manager.get(INFO)).status).toBe(200);
    await manager.stop();
    const rebuilt = await startManager({ repository: manager.repository });
    const reply = await rebuilt.get(INFO);
    expect([reply.status, reply.headers.get('content-type')]).toEqual([503, 'text/plain; charset=utf-8']);
    expect((await rebuilt.get('/api/v2/device_groups/other/info')).status).toBe(403);
    await rebuilt.repository.commit({ 'desired-state/apps/db.yaml': 'container_image: redis:8\n' });
    await rebuilt.reconcile();
    expect((await rebuilt.get(INFO)).body.apps_list).toEqual(['web', 'db']);
  });
});

describe('docs/contract.md, 7.1: Who may read a cached reply', () => {
  const manager = suiteManager({ files: FILES, settings: LONG_CACHE }, (m) => m.get(INFO));

  it('authentication comes before the cache, always, and a 401 is not cached', async () => {
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

describe('docs/contract.md, 7.2: Conditional polling', () => {
  const manager = suiteManager({ files: FILES });
  const etagNow = async () => (await manager().get(INFO)).headers.get('etag') ?? '';

  it('strong ETag, which stays the same as long as the reply does', async () => {
    const etag = await etagNow();
    expect(etag).toMatch(/^"[^"]+"$/);
    expect(await etagNow()).toBe(etag);
  });

  it.each([
    ['the tag', (etag: string) => etag],
    ['a list with the tag', (etag: string) => `"x", ${etag}, "y"`],
    ['the newest tag and the one whose work is done', (etag: string) => `${etag}, "abcd.1-old"`],
    ['the newest tag while no work is done', (etag: string) => `${etag}, "none"`],
    ['the weak form of the tag', (etag: string) => `W/${etag}`],
    ['a star', () => '*'],
  ])('If-None-Match gives 304: %s', async (_, header) => {
    const etag = await etagNow();
    const reply = await manager().get(INFO, { headers: { 'if-none-match': header(etag) } });
    expect(reply.status).toBe(304);
    expect(reply.text).toBe('');
    expect(reply.headers.get('etag')).toBe(etag);
    expect(reply.headers.get('holdfast-revision')).toMatch(/^[0-9a-f]{40}$/);
    expect(reply.headers.get('holdfast-device-group')).toBe('edge');
  });

  it('Holdfast-Device-Group names the group of a reply', async () => {
    const { headers } = await manager().get('/api/v2/device_groups/lab/info');
    expect(headers.get('holdfast-device-group')).toBe('lab');
  });

  it.each([
    ['another tag', () => '"x"'],
    ['the tag without quotes', (etag: string) => etag.slice(1, -1)],
    ['a part of the tag', (etag: string) => `${etag.slice(0, -2)}"`],
    ['an empty header', () => ''],
    ['a list without the tag', () => '"x", "y"'],
  ])('If-None-Match that does not match gives 200 with the body: %s', async (_, header) => {
    const etag = await etagNow();
    const reply = await manager().get(INFO, { headers: { 'if-none-match': header(etag) } });
    expect(reply.status).toBe(200);
    expect(reply.body.apps).toHaveLength(2);
  });

  it('If-None-Match with the old tag gives 200 after a change', async () => {
    const etag = await etagNow();
    await manager().post(`${EDGE}/prune`);
    const reply = await manager().get(INFO, { headers: { 'if-none-match': etag } });
    expect(reply.status).toBe(200);
    expect(reply.headers.get('etag')).not.toBe(etag);
  });

  it.each(['GET', 'HEAD'])('a 304 has neither Content-Length nor Content-Type: %s', async (method) => {
    const etag = await etagNow();
    const headers = { 'if-none-match': etag };
    const reply = await sendRaw(manager(), { method, path: INFO, headers });
    expect([reply.status, reply.text, reply.headers.etag]).toEqual([304, '', etag]);
    expect(reply.headers['content-length']).toBeUndefined();
    expect(reply.headers['content-type']).toBeUndefined();
  });

  it('HEAD is GET without the body, also with If-None-Match', async () => {
    const etag = await etagNow();
    const head = await manager().request('HEAD', INFO);
    expect(head.status).toBe(200);
    expect(head.text).toBe('');
    expect(head.headers.get('etag')).toBe(etag);
    const reply = await manager().request('HEAD', INFO, { headers: { 'if-none-match': etag } });
    expect(reply.status).toBe(304);
  });

  it('an unknown group gives 403 also with If-None-Match: *', async () => {
    const path = '/api/v2/device_groups/nope/info';
    const reply = await manager().get(path, { headers: { 'if-none-match': '*' } });
    expect(reply.status).toBe(403);
    expect(reply.body).toEqual({ device_group_exists: false });
  });
});
