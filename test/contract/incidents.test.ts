import { describe, expect, it, vi } from 'vitest';
import { startManager } from '../support/manager.ts';

/** Waits for what is found within some looks. */
function until<T>(find: () => Promise<T | null>): Promise<T> {
  return vi.waitUntil(find, { timeout: 10_000, interval: 20 }) as Promise<T>;
}

const FILES = {
  'apps/web.yaml': 'container_image: web:1\n',
  'device-groups/edge.yaml': 'apps: [web]\n',
};

describe('GET /api/v2/incidents', () => {
  it('has what is wrong, and what was; one incident over a restart', async () => {
    const manager = await startManager({ files: FILES });
    expect((await manager.get('/api/v2/incidents')).body).toEqual({ incidents: [], next: null });
    await manager.repository.commit({ 'desired-state/apps/web.yaml': 'container_image: [1]\n' });
    await manager.reconcile();
    const found = await until(async () => {
      const { body } = await manager.get('/api/v2/incidents');
      return body.incidents.length === 1 ? body.incidents[0] : null;
    });
    expect(found).toMatchObject({
      id: expect.stringMatching(/^[0-9a-f]{12}$/),
      key: 'problem:app/web',
      kind: 'problem',
      told_at: null,
      until: null,
      objects: ['app/web'],
      groups: ['edge'],
    });
    expect(found.text).toMatch(/^apps\/web\.yaml:1: /);
    expect((await manager.get('/metrics')).text).toContain('holdfast_incidents{kind="problem"} 1');
    const restarted = await manager.restart();
    await until(async () => (await restarted.get('/api/v2/incidents')).body.incidents.length === 1 || null);
    expect((await restarted.get('/api/v2/incidents')).body.incidents[0]).toEqual(found);
    await restarted.repository.commit({ 'desired-state/apps/web.yaml': 'container_image: web:2\n' });
    await restarted.reconcile();
    const ended = await until(async () => {
      const { body } = await restarted.get('/api/v2/incidents');
      return body.incidents[0]?.until === null ? null : body.incidents[0];
    });
    expect(ended).toEqual({ ...found, until: expect.any(String) });
  });

  it('pages by `after`, and refuses what it does not know', async () => {
    const bad = Object.fromEntries(
      ['a', 'b', 'c'].map((name) => [`apps/${name}.yaml`, 'container_image: [1]\n']),
    );
    const manager = await startManager({ files: bad });
    await until(async () => (await manager.get('/api/v2/incidents')).body.incidents.length === 3 || null);
    const { body: first } = await manager.get('/api/v2/incidents?page_size=2');
    const { body: second } = await manager.get(`/api/v2/incidents?page_size=2&after=${first.next}`);
    expect(
      new Set([...first.incidents, ...second.incidents].map(({ key }: { key: string }) => key)).size,
    ).toBe(3);
    expect(second.next).toBeNull();
    expect(await manager.get('/api/v2/incidents?after=x')).toMatchObject({ status: 400 });
    expect(await manager.get('/api/v2/incidents?kind=pass')).toMatchObject({ status: 400 });
  });

  it('begins when too many devices of a group are silent', async () => {
    let now = 1_800_000_000_000;
    const manager = await startManager({ files: FILES, now: () => now });
    await manager.get('/api/v2/device_groups/edge/info', { headers: { 'holdfast-device': 'pos-1' } });
    now += 700_000;
    await manager.reconcile();
    const found = await until(async () => (await manager.get('/api/v2/incidents')).body.incidents[0] ?? null);
    expect(found).toMatchObject({ key: 'group:edge', text: 'device group edge: 1 silent of 1 device' });
    expect(manager.log).toContainEqual(expect.objectContaining({ key: 'group:edge', incident: found.id }));
  });
});

describe('GET /api/v2/summary', () => {
  it('says how the fleet is, with an ETag that stays while nothing changes', async () => {
    const manager = await startManager({ files: FILES, settings: { FLEET_NAME: 'shops' } });
    const write = await manager.put('/api/v2/apps/web/update', { container_image: 'web:2' });
    await manager.post('/api/v2/apps/web/restart');
    await manager.get('/api/v2/device_groups/edge/info', { headers: { 'holdfast-device': 'pos-1' } });
    await manager.get('/api/v2/history');
    const reply = await manager.get('/api/v2/summary');
    expect(reply.body).toEqual({
      version: expect.any(String),
      fleet: 'shops',
      state: 'applied',
      revision_applied: write.headers.get('holdfast-revision'),
      applied_at: expect.any(String),
      subject: 'app web: container_image 1 -> 2',
      actor: 'operator',
      problems: 0,
      incidents: 0,
      apps: 1,
      device_groups: 1,
      devices: { unknown: 1 },
      newest: { commit: 2, operation: 3 },
      forge: null,
    });
    expect(Buffer.byteLength(reply.text)).toBeLessThan(2048);
    const again = await manager.get('/api/v2/summary', {
      headers: { 'if-none-match': reply.headers.get('etag') ?? '' },
    });
    expect(again.status).toBe(304);
    expect((await manager.get('/metrics')).text).toMatch(
      /^holdfast_info\{fleet="shops",version="[^"]+"\} 1$/m,
    );
  });

  it('names the fleet after its repository', async () => {
    const manager = await startManager({ files: FILES });
    const { fleet } = (await manager.get('/api/v2/summary')).body;
    expect(manager.repository.folder.endsWith(fleet)).toBe(true);
  });
});
