import { describe, expect, it } from 'vitest';
import { runCli } from '../support/command.ts';
import { PASSWORD, startManager, type TestManager, USER } from '../support/manager.ts';

const FILES = {
  'apps/web.yaml': 'container_image: web:1\n',
  'apps/db.yaml': 'container_image: db:1\nrunning: false\n',
  'apps/api.yaml': 'container_image: api:1\n',
  'device-groups/edge.yaml': 'apps: [web, api]\n',
  'device-groups/lab.yaml': 'apps: [web]\n',
  'device-groups/none.yaml': 'apps: []\n',
};

async function converge(manager: TestManager, device: string, group: string): Promise<void> {
  const path = `/api/v2/device_groups/${group}/info`;
  const etag = (await manager.get(path)).headers.get('etag') ?? '';
  await manager.get(path, { headers: { 'holdfast-device': device, 'if-none-match': etag } });
}

/** Two devices of each group have all; then web changes, and one of edge has that as well; one of lab fails at it. */
async function start(): Promise<{ manager: TestManager; revision: string }> {
  const manager = await startManager({ files: FILES });
  for (const [device, group] of [
    ['e1', 'edge'],
    ['e2', 'edge'],
    ['l1', 'lab'],
    ['l2', 'lab'],
  ] as const)
    await converge(manager, device, group);
  const write = await manager.put('/api/v2/apps/web/update', { container_image: 'web:2' });
  await converge(manager, 'e1', 'edge');
  await manager.post('/api/v2/reports', {
    hostname: 'l1',
    device_group: 'lab',
    report_creation_time: 1,
    worker: { version: '1' },
    apps: [{ name: 'web', state: 'failing', error: 'no' }],
  });
  await manager.get('/api/v2/history');
  return { manager, revision: write.headers.get('holdfast-revision') ?? '' };
}

describe('GET /api/v2/inventory', () => {
  it('has the apps, with how many devices have the last change of each', async () => {
    const { manager, revision } = await start();
    const { body } = await manager.get('/api/v2/inventory/apps');
    expect(body).toMatchObject({ next: null, total: 3 });
    expect(body.apps.map(({ name }: { name: string }) => name)).toEqual(['api', 'db', 'web']);
    const [api, db, web] = body.apps;
    expect(web).toEqual({
      name: 'web',
      container_image: 'web:2',
      running: true,
      groups: 2,
      devices: 4,
      current: 1,
      behind: 2,
      failed: 1,
      silent: 0,
      problem: false,
      last_change: { at: expect.any(String), actor: 'operator', revision },
    });
    expect(api).toMatchObject({ groups: 1, devices: 2, current: 2, behind: 0, failed: 0 });
    expect(db).toMatchObject({ running: false, groups: 0, devices: 0 });
  });

  it('has the device groups, with how their devices are', async () => {
    const { manager } = await start();
    await manager.post('/api/v2/device_groups/lab/prune');
    await manager.get('/api/v2/history');
    const { body } = await manager.get('/api/v2/inventory/device_groups?sort=last_change');
    expect(body.total).toBe(3);
    expect(body.device_groups[0]).toMatchObject({
      name: 'lab',
      apps: 1,
      prune_id: expect.any(Number),
      devices: 2,
      current: 0,
      behind: 1,
      failed: 1,
      problem: false,
      last_change: { actor: 'operator', revision: null },
    });
  });

  it('selects, sorts and pages', async () => {
    const { manager } = await start();
    await manager.repository.commit({ 'desired-state/apps/api.yaml': 'container_image: [1]\n' });
    await manager.reconcile();
    const names = async (path: string) => {
      const { body } = await manager.get(`/api/v2/inventory/${path}`);
      return (body.apps ?? body.device_groups).map(({ name }: { name: string }) => name).join();
    };
    expect(await names('apps?group=edge')).toBe('api,web');
    expect(await names('apps?q=B')).toBe('db,web');
    expect(await names('apps?state=stopped')).toBe('db');
    expect(await names('apps?state=held_back')).toBe('api');
    expect(await names('apps?state=failing')).toBe('web');
    expect(await names('apps?sort=-name')).toBe('web,db,api');
    expect(await names('apps?sort=behind')).toBe('web,api,db');
    expect(await names('apps?sort=last_change')).toMatch(/^web,/);
    expect(await names('device_groups?state=stopped')).toBe('none');
    const { body: first } = await manager.get('/api/v2/inventory/apps?page_size=2');
    expect(first.next).toBe('db');
    expect(await names(`apps?page_size=2&after=${first.next}`)).toBe('web');
    for (const bad of ['state=fine', 'sort=size', 'x=1', 'after=a%20b'])
      expect((await manager.get(`/api/v2/inventory/apps?${bad}`)).status).toBe(400);
    expect((await manager.get('/api/v2/inventory/device_groups?group=edge')).status).toBe(400);
  });

  it('is what holdfast apps lists', async () => {
    const { manager } = await start();
    const env = { HOLDFAST: manager.service.address, CREDENTIALS: `${USER}:${PASSWORD}` };
    const { code, out } = await runCli(['apps', '--sort', 'behind'], { env });
    expect(code).toBe(0);
    expect(out.split('\n').map((line) => line.replace(/\d+ s ago/, 'NOW').replace(/ +/g, ' '))).toEqual([
      'APP IMAGE STATE GROUPS DEVICES CURRENT BEHIND FAILED SILENT CHANGED',
      'web web:2 running 2 4 1 2 1 0 NOW by operator',
      expect.stringMatching(/^api api:1 running 1 2 2 0 0 0 NOW by /),
      expect.stringMatching(/^db db:1 stopped 0 0 0 0 0 0 NOW by /),
      '',
    ]);
    expect((await runCli(['apps', '--state', 'fine'], { env })).code).toBe(2);
  });
});
