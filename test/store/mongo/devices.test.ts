import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';
import { SMALL_FLEET, startManager, type TestManager } from '../../support/manager.ts';
import { dropDatabase, newDatabase, SERVER } from './test-database.ts';

const INFO = '/api/v2/device_groups/edge/info';
const LIMITS = { timeout: 60_000, interval: 200 };

let database: string;

beforeEach(() => {
  database = newDatabase();
});
afterEach(async () => {
  if (!SERVER.isMissing) await dropDatabase(database);
});

/** Two managers of one repository on the database of this test. */
async function startBoth(): Promise<[TestManager, TestManager]> {
  const settings = { MONGODB_URI: SERVER.uri, MONGODB_DATABASE: database };
  const first = await startManager({ files: SMALL_FLEET, settings });
  return [first, await startManager({ repository: first.repository, settings })];
}

/** Polls as `pos-1` does; resolves to the headers of the reply. */
async function poll(manager: TestManager, tags?: string | null, instance?: string): Promise<Headers> {
  const headers = {
    'holdfast-device': 'pos-1',
    ...(tags != null && { 'if-none-match': tags }),
    ...(instance !== undefined && { 'holdfast-instance': instance }),
  };
  return (await manager.get(INFO, { headers })).headers;
}

/** What a manager says of the device, and of how many devices it knows. */
async function shown(manager: TestManager) {
  const { devices, total } = (await manager.get('/api/v2/devices')).body;
  const { totals } = (await manager.get('/api/v2/convergence')).body;
  return { state: devices[0]?.state, missing: devices[0]?.missing, total, counted: totals.devices };
}

describe.skipIf(SERVER.isMissing)('the devices of two managers on one database', SERVER.limits, () => {
  it('are counted once and in the same state by both, also while they alternate', async () => {
    const managers = await startBoth();
    const etag = (await poll(managers[0])).get('etag');
    for (let turn = 0; turn < 6; turn++) await poll(managers[turn % 2] ?? managers[0], etag);
    const one = { total: 1, counted: 1 };
    for (const manager of managers)
      await vi.waitFor(
        async () => expect(await shown(manager)).toEqual({ ...one, state: 'current', missing: [] }),
        LIMITS,
      );
    await managers[0].put('/api/v2/apps/web/update', { container_image: 'nginx:2' });
    await managers[1].reconcile();
    const newest = (await poll(managers[1], etag)).get('etag');
    await poll(managers[1], `${newest}, ${etag}`);
    for (const manager of managers)
      await vi.waitFor(
        async () => expect(await shown(manager)).toEqual({ ...one, state: 'behind', missing: ['app/web'] }),
        LIMITS,
      );
    await poll(managers[0], newest);
    for (const manager of managers)
      await vi.waitFor(async () => expect((await shown(manager)).state).toBe('current'), LIMITS);
  });

  it('which one of them alone has heard, and its report, are known by the other one', async () => {
    const [first, second] = await startBoth();
    await poll(first);
    const trouble = { name: 'web', state: 'failing', error: { code: 'crashed', text: 'exit code 1' } };
    const report = { hostname: 'pos-1', device_group: 'edge', report_creation_time: 1, apps: [trouble] };
    await first.post('/api/v2/reports', { ...report, worker: { version: '1.2.0' } });
    await vi.waitFor(async () => {
      const { body } = await second.get('/api/v2/devices/pos-1');
      expect(body).toMatchObject({
        state: 'failed',
        failed: [{ app: 'web', error: 'exit code 1' }],
        report: { hostname: 'pos-1', apps: [trouble] },
      });
    }, LIMITS);
  });

  it('of one name: the one that came later is told so by the manager that it polls, and the first one is not', async () => {
    const [first, second] = await startBoth();
    await poll(first, null, 'aaaaaaaa');
    await vi.waitFor(async () => {
      expect((await poll(first, null, 'aaaaaaaa')).get('holdfast-conflict')).toBeNull();
      expect((await poll(second, null, 'bbbbbbbb')).get('holdfast-conflict')).toBe('aaaaaaaa');
    }, LIMITS);
    for (let turn = 0; turn < 3; turn++) {
      expect((await poll(first, null, 'aaaaaaaa')).get('holdfast-conflict')).toBeNull();
      expect((await poll(second, null, 'bbbbbbbb')).get('holdfast-conflict')).toBe('aaaaaaaa');
    }
    const { body } = await second.get('/api/v2/devices/pos-1');
    expect(body).toMatchObject({ conflict: true });
  });

  it('are forgotten by both when one of them is asked to', async () => {
    const [first, second] = await startBoth();
    await poll(first);
    await vi.waitFor(async () => expect((await shown(second)).total).toBe(1), LIMITS);
    await first.post('/api/v2/devices/pos-1/forget');
    await vi.waitFor(async () => expect((await shown(second)).total).toBe(0), LIMITS);
  });
});
