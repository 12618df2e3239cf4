import { describe, expect, it } from 'vitest';
import { startManager, type TestManager } from '../support/manager.ts';

const FILES = {
  'apps/web.yaml': 'container_image: web:1\n',
  'apps/db.yaml': 'container_image: db:1\n',
  'device-groups/edge.yaml': 'apps: [web]\n',
  'device-groups/lab.yaml': 'apps: [db]\n',
};

/** Polls as a worker does; resolves to the reply. `has` is the last tag of the header. */
function poll(
  manager: TestManager,
  device: string | null,
  has: string | null = null,
  more: Record<string, string> = {},
  group = 'edge',
) {
  return manager.get(`/api/v2/device_groups/${group}/info`, {
    headers: {
      ...(device !== null && { 'holdfast-device': device }),
      ...(has !== null && { 'if-none-match': has }),
      ...more,
    },
  });
}

/** Polls until the device has what its group should have. */
async function converge(manager: TestManager, device: string, group = 'edge'): Promise<string> {
  const etag = (await poll(manager, device, null, {}, group)).headers.get('etag') ?? '';
  await poll(manager, device, etag, {}, group);
  return etag;
}

function report(manager: TestManager, hostname: string, more: object = {}) {
  const body = {
    hostname,
    device_group: 'edge',
    report_creation_time: 1,
    worker: { version: '1.2.0' },
    ...more,
  };
  return manager.post('/api/v2/reports', body);
}

const device = async (manager: TestManager, name: string) =>
  (await manager.get(`/api/v2/devices/${name}`)).body;

describe('devices: the state of each', () => {
  it('current by its own word alone; behind once a change was applied, since then', async () => {
    const manager = await startManager({ files: FILES });
    const { revision } = (await manager.get('/api/v2/convergence')).body;
    const etag = await converge(manager, 'pos-1');
    expect(await device(manager, 'pos-1')).toMatchObject({
      device: 'pos-1',
      device_group: 'edge',
      declared: false,
      state: 'current',
      has: { revision, seq: expect.any(Number) },
      missing: [],
      failed: [],
      access: 'shared',
      conflict: false,
      report: null,
    });
    await manager.put('/api/v2/apps/web/update', { container_image: 'web:2' });
    await manager.post('/api/v2/device_groups/edge/prune');
    const newest = (await poll(manager, 'pos-1', etag)).headers.get('etag');
    await poll(manager, 'pos-1', `${newest}, ${etag}`);
    const behind = await device(manager, 'pos-1');
    const { body: history } = await manager.get('/api/v2/history?object=app/web&page_size=1');
    expect(behind).toMatchObject({
      state: 'behind',
      since: history.entries[0].applied_at,
      has: { revision },
      missing: ['prune/edge', 'app/web'],
    });
    await poll(manager, 'pos-1', newest);
    expect(await device(manager, 'pos-1')).toMatchObject({ state: 'current', missing: [] });
  });

  it('unknown without a word, and by the word of another store or of a group with higher ids', async () => {
    const manager = await startManager({ files: FILES });
    await poll(manager, 'no-word');
    await poll(manager, 'other-store', '"0000.1-x"');
    await poll(
      manager,
      'ahead',
      (await poll(manager, null)).headers.get('etag')?.replace(/\.\d+-/, '.99-') ?? '',
    );
    const { body } = await manager.get('/api/v2/devices?state=unknown');
    expect(body.devices.map((each: { device: string }) => each.device)).toEqual([
      'ahead',
      'no-word',
      'other-store',
    ]);
  });

  it('failed by its latest report, with the reason, until a report without it', async () => {
    const manager = await startManager({ files: FILES });
    await converge(manager, 'pos-1');
    const app = {
      name: 'web',
      wanted_id: 1,
      running_id: null,
      state: 'failing',
      error: { code: 'pull-failed', text: 'no such image' },
    };
    await report(manager, 'pos-1', { apps: [app] });
    expect(await device(manager, 'pos-1')).toMatchObject({
      state: 'failed',
      failed: [{ app: 'web', error: 'no such image' }],
      worker: '1.2.0',
      report: { hostname: 'pos-1', apps: [app] },
    });
    await report(manager, 'pos-1', { problems: [{ code: 'engine-unavailable', text: 'no socket' }] });
    expect(await device(manager, 'pos-1')).toMatchObject({
      state: 'failed',
      failed: [{ app: null, error: 'no socket' }],
    });
    await report(manager, 'pos-1', {});
    expect(await device(manager, 'pos-1')).toMatchObject({ state: 'current', failed: [] });
  });

  it('a device that only reports is known by the tag that it reports; a worker that says no version is not', async () => {
    const manager = await startManager({ files: FILES });
    const etag = (await poll(manager, null)).headers.get('etag');
    await report(manager, 'reports-only', { applied: etag });
    await manager.post('/api/v2/reports', {
      hostname: 'f00d',
      device_group: 'edge',
      report_creation_time: 1,
    });
    const { body } = await manager.get('/api/v2/devices');
    expect(body).toMatchObject({
      devices: [{ device: 'reports-only', state: 'current', access: null }],
      total: 1,
    });
  });

  it('silent after DEVICE_SILENT_AFTER, gone after DEVICE_TTL; a pause of the manager makes nobody silent', async () => {
    let now = 1_800_000_000_000;
    const manager = await startManager({
      files: FILES,
      now: () => now,
      settings: { DEVICE_SILENT_AFTER: '60', DEVICE_TTL: '3600' },
    });
    await converge(manager, 'old');
    now += 61_000;
    await converge(manager, 'new');
    expect(await device(manager, 'old')).toMatchObject({
      state: 'silent',
      since: new Date(now - 1000).toISOString(),
    });
    expect(await device(manager, 'new')).toMatchObject({ state: 'current' });
    await manager.stop();
    now += 600_000;
    const { repository, dataFolder } = manager;
    const settings = { DEVICE_SILENT_AFTER: '60', DEVICE_TTL: '3600' };
    const again = await startManager({ repository, dataFolder, now: () => now, settings });
    expect(await device(again, 'old')).toMatchObject({ state: 'silent' });
    expect(await device(again, 'new')).toMatchObject({ state: 'current' });
    now += 61_000;
    expect(await device(again, 'new')).toMatchObject({ state: 'silent' });
    now += 3_600_000;
    expect((await again.get('/api/v2/devices')).body).toMatchObject({ devices: [], total: 0 });
  });

  it('unknown after the loss of the store, never current', async () => {
    const manager = await startManager({ files: FILES });
    const etag = await converge(manager, 'pos-1');
    await manager.stop();
    const rebuilt = await startManager({ repository: manager.repository });
    expect((await rebuilt.get('/api/v2/devices')).body).toMatchObject({ total: 0 });
    await poll(rebuilt, 'pos-1', etag);
    expect(await device(rebuilt, 'pos-1')).toMatchObject({ state: 'unknown', has: null });
  });

  it('two workers of one name: the one that came later is told so, and counts for nothing', async () => {
    const manager = await startManager({ files: FILES });
    const etag = await converge(manager, 'pos-1');
    await poll(manager, 'pos-1', etag, { 'holdfast-instance': 'aaaaaaaa' });
    for (const has of ['"x"', etag]) {
      const reply = await poll(manager, 'pos-1', has, { 'holdfast-instance': 'bbbbbbbb' });
      expect(reply.headers.get('holdfast-conflict')).toBe('aaaaaaaa');
    }
    expect(await device(manager, 'pos-1')).toMatchObject({ state: 'current', conflict: true });
    const first = await poll(manager, 'pos-1', etag, { 'holdfast-instance': 'aaaaaaaa' });
    expect(first.headers.get('holdfast-conflict')).toBeNull();
    const restarted = await manager.restart();
    const late = await poll(restarted, 'pos-1', etag, { 'holdfast-instance': 'bbbbbbbb' });
    expect(late.headers.get('holdfast-conflict')).toBe('aaaaaaaa');
  });
});

describe('GET /api/v2/devices', () => {
  it('filters, sorts and pages, with a total; and has all of them as CSV', async () => {
    const manager = await startManager({ files: FILES });
    for (const name of ['c', 'a', 'b']) await converge(manager, name);
    await converge(manager, 'lab-1', 'lab');
    await report(manager, 'b', {
      worker: { version: '1.3.0' },
      apps: [{ name: 'web', state: 'failing', error: '=1+"2"' }],
    });
    const names = async (query: string) => {
      const { body } = await manager.get(`/api/v2/devices?${query}`);
      return [body.devices.map((each: { device: string }) => each.device).join(), body.total];
    };
    expect(await names('group=edge')).toEqual(['a,b,c', 3]);
    expect(await names('state=failed')).toEqual(['b', 1]);
    expect(await names('app=web&state=failed')).toEqual(['b', 1]);
    expect(await names('app=db')).toEqual(['lab-1', 1]);
    expect(await names('worker=1.3.0')).toEqual(['b', 1]);
    expect(await names('q=LAB')).toEqual(['lab-1', 1]);
    expect(await names('access=own')).toEqual(['', 0]);
    expect(await names('sort=last_seen')).toEqual(['c,a,lab-1,b', 4]);
    const paged: string[] = [];
    for (let next = ''; ; ) {
      const { body } = await manager.get(`/api/v2/devices?sort=last_seen&page_size=1${next}`);
      paged.push(body.devices[0].device);
      if (body.next === null) break;
      next = `&after=${encodeURIComponent(body.next)}`;
    }
    expect(paged.join()).toBe('c,a,lab-1,b');
    const csv = await manager.get('/api/v2/devices?format=csv&group=edge');
    expect(csv.headers.get('content-type')).toContain('text/csv');
    const lines = csv.text.split('\r\n');
    expect(lines).toHaveLength(5);
    expect(lines[0]).toBe(
      'device,device_group,declared,state,since,last_seen,revision,seq,missing,failed,access,conflict,worker',
    );
    expect(lines[2]).toMatch(/^b,edge,false,failed,.*,"web: =1\+""2""",shared,false,1\.3\.0$/);
  });

  it('refuses unknown parameters, states and orders, cursors that no page has, and pages of nothing', async () => {
    const manager = await startManager({ files: FILES });
    for (const query of ['x=1', 'state=fine', 'sort=size', 'after=x', 'page_size=0']) {
      const reply = await manager.get(`/api/v2/devices?${query}`);
      expect([query, reply.status]).toEqual([query, 400]);
      expect(Object.keys(reply.body.invalid_parameters)).toEqual([query.split('=')[0]]);
    }
  });

  it('remembers DEVICES_MAX names at most: the last ones heard', async () => {
    const manager = await startManager({ files: FILES, settings: { DEVICES_MAX: '2' } });
    for (const name of ['a', 'b', 'c']) await poll(manager, name);
    const { body } = await manager.get('/api/v2/devices');
    expect(body.devices.map((each: { device: string }) => each.device)).toEqual(['b', 'c']);
  });

  it('forgets a device when asked, and knows it again once it polls', async () => {
    const manager = await startManager({ files: FILES });
    const etag = await converge(manager, 'pos-1');
    const forgotten = await manager.post('/api/v2/devices/pos-1/forget');
    expect(forgotten).toMatchObject({ status: 200, body: { device: 'pos-1', forgotten: true } });
    for (const reply of [
      await manager.get('/api/v2/devices/pos-1'),
      await manager.post('/api/v2/devices/pos-1/forget'),
    ])
      expect(reply).toMatchObject({ status: 403, body: { device_exists: false } });
    await poll(manager, 'pos-1', etag);
    expect(await device(manager, 'pos-1')).toMatchObject({ state: 'current' });
  });

  it('keeps what it knows over a restart and a kill of the process, reports too', async () => {
    const manager = await startManager({ files: FILES });
    await converge(manager, 'pos-1');
    await report(manager, 'pos-1', { uptime: 7 });
    const before = await device(manager, 'pos-1');
    const restarted = await manager.restart();
    expect(await device(restarted, 'pos-1')).toEqual(before);
    expect(before.report).toMatchObject({ uptime: 7 });
  });
});

describe('REPORTS', () => {
  it.each([
    ['all', 3],
    ['changes', 2],
    ['latest', 0],
  ])(
    '%s keeps so many of three reports, of which two say the same; the latest is with the device',
    async (REPORTS, count) => {
      const manager = await startManager({ files: FILES, settings: { REPORTS } });
      const app = (state: string) => ({ apps: [{ name: 'web', state }] });
      for (const more of [app('pulling'), { ...app('pulling'), uptime: 2 }, app('running')])
        expect((await report(manager, 'pos-1', more)).body).toEqual({ accepted: 1 });
      expect((await manager.get('/api/v2/reports')).body.data).toHaveLength(count);
      expect((await device(manager, 'pos-1')).report).toMatchObject(app('running'));
    },
  );
});

describe('GET /api/v2/convergence', () => {
  it('counts the devices of each group, of a revision, and of the versions of an app', async () => {
    const manager = await startManager({ files: FILES });
    const first = await converge(manager, 'a');
    for (const name of ['b', 'c']) await converge(manager, name);
    await converge(manager, 'lab-1', 'lab');
    await poll(manager, null);
    await poll(manager, 'no-word');
    const write = await manager.put('/api/v2/apps/web/update', { container_image: 'web:2' });
    const etag = (await poll(manager, 'a', first)).headers.get('etag');
    await poll(manager, 'a', etag);
    const revision = write.headers.get('holdfast-revision') ?? '';
    const none = {
      devices: 0,
      current: 0,
      behind: 0,
      failed: 0,
      silent: 0,
      unknown: 0,
      expected: 0,
      anonymous_polls: 0,
    };
    const edge = { ...none, group: 'edge', devices: 4, current: 1, behind: 2, unknown: 1 };
    const { body: all } = await manager.get('/api/v2/convergence');
    expect(all).toEqual({
      revision,
      groups: [
        { ...edge, anonymous_polls: 1 },
        { ...none, group: 'lab', devices: 1, current: 1 },
      ],
      totals: { ...none, devices: 5, current: 2, behind: 2, unknown: 1, anonymous_polls: 1 },
    });
    const { body: ofRevision } = await manager.get(`/api/v2/convergence/revisions/${revision.slice(0, 12)}`);
    expect(ofRevision).toMatchObject({ revision, groups: [edge], totals: { devices: 4, current: 1 } });
    const { app_id } = write.body;
    const { body: ofApp } = await manager.get('/api/v2/convergence/apps/web');
    expect(ofApp).toEqual({
      app: 'web',
      ids: [
        { app_id, revision, devices: 1 },
        { app_id: app_id - 1, revision: expect.any(String), devices: 2 },
      ],
    });
  });

  it('answers for what does not exist as other routes do', async () => {
    const manager = await startManager({ files: FILES });
    expect(await manager.get('/api/v2/convergence/revisions/nowhere')).toMatchObject({
      status: 404,
      body: { revision_exists: false },
    });
    expect(await manager.get('/api/v2/convergence/apps/nothing')).toMatchObject({
      status: 403,
      body: { app_exists: false },
    });
    expect(await manager.get('/api/v2/devices/nobody')).toMatchObject({
      status: 403,
      body: { device_exists: false },
    });
    expect(await manager.get('/api/v2/devices/no%20name')).toMatchObject({ status: 400 });
  });

  it('knows no device of what is no name, whether a reply to its poll is ready or not', async () => {
    const manager = await startManager({ files: FILES });
    await poll(manager, 'no name');
    await poll(manager, '-pos');
    const { text } = await manager.get('/metrics');
    expect(text).toContain('holdfast_anonymous_polls_total{group="edge"} 2\n');
    expect((await manager.get('/api/v2/devices')).body).toMatchObject({ total: 0 });
  });

  it('is what /metrics shows', async () => {
    const manager = await startManager({ files: FILES });
    await converge(manager, 'pos-1');
    await poll(manager, null);
    const { text } = await manager.get('/metrics');
    for (const line of [
      'holdfast_devices{group="edge",state="current"} 1',
      'holdfast_devices{group="lab",state="current"} 0',
      'holdfast_devices_converged{group="edge"} 1',
      'holdfast_anonymous_polls_total{group="edge"} 1',
    ])
      expect(text.split('\n')).toContain(line);
  });
});
