import { describe, expect, it, onTestFinished } from 'vitest';
import type { WorkerReport } from '../../../src/protocol/report.ts';
import { createLink, type ManagerLink, type PollResult } from '../../../src/worker/link/link.ts';
import { buildReport } from '../../../src/worker/report.ts';
import { SMALL_FLEET, startManager, type TestManager } from '../../support/manager.ts';
import { deviceStatus } from '../support.ts';

const NEVER = new AbortController().signal;
const DEVICES = { user: 'devices', password: 'only for devices' };

async function managerForDevices(): Promise<TestManager> {
  return startManager({
    files: SMALL_FLEET,
    settings: { DEVICE_AUTH_USER: DEVICES.user, DEVICE_AUTH_PASSWORD: DEVICES.password, CACHE_TIME: '0' },
  });
}

function linkTo(manager: TestManager, group = 'edge', credentials = DEVICES): ManagerLink {
  const link = createLink({
    manager: manager.service.address,
    group,
    device: () => 'shop-17',
    instance: () => '00c0ffee',
    credentials,
    ca: null,
    requestTimeout: 30,
    now: Date.now,
  });
  onTestFinished(() => link.close());
  return link;
}

function etagOf(result: PollResult): string {
  if (result.kind !== 'new') throw new Error(`no reply, but ${JSON.stringify(result)}`);
  return result.reply.etag;
}

describe('a link to a real manager', () => {
  it('sees what the group wants, then that nothing changed, then a change', async () => {
    const manager = await managerForDevices();
    const link = linkTo(manager);
    const first = await link.poll({ newest: null, done: null }, NEVER);
    expect(first).toMatchObject({
      kind: 'new',
      reply: {
        apps: [{ name: 'web' }, { name: 'cron' }],
        unknownFields: [],
        revision: expect.stringMatching(/^[0-9a-f]{40}/),
      },
    });
    const newest = etagOf(first);
    expect(await link.poll({ newest, done: null }, NEVER)).toEqual({ kind: 'unchanged' });
    expect(await link.poll({ newest, done: newest }, NEVER)).toEqual({ kind: 'unchanged' });
    await manager.post('/api/v2/apps/web/restart');
    const second = await link.poll({ newest, done: newest }, NEVER);
    expect(etagOf(second)).not.toBe(newest);
    expect(await link.poll({ newest: etagOf(second), done: newest }, NEVER)).toEqual({ kind: 'unchanged' });
  });

  it('sees that its group is gone, and that its credentials are wrong', async () => {
    const manager = await managerForDevices();
    const tags = { newest: null, done: null };
    expect(await linkTo(manager, 'nowhere').poll(tags, NEVER)).toEqual({ kind: 'group-gone' });
    const stranger = linkTo(manager, 'edge', { ...DEVICES, password: 'another password' });
    expect(await stranger.poll(tags, NEVER)).toMatchObject({
      kind: 'trouble',
      text: expect.stringContaining('401'),
    });
  });

  it('sends reports that the manager keeps as they are', async () => {
    const manager = await managerForDevices();
    const machine = {
      memory: { total: 8 * 1024 ** 3, available: 1024 ** 3 },
      disk: { total: 64 * 1024 ** 3, free: 1024 ** 3 },
      cpu: { cores: 4, usedPercent: 12.34 },
    };
    const now = Math.floor(Date.now() / 1000);
    const reports: WorkerReport[] = [0, 1].map((age) =>
      buildReport({
        status: deviceStatus(),
        machine,
        figures: new Map(),
        isUpdate: age === 0,
        now: now - age,
      }),
    );
    const link = linkTo(manager);
    for (const report of reports) expect(await link.send(report, NEVER)).toBe('accepted');
    const { body } = await manager.get('/api/v2/reports?page_size=10');
    expect(JSON.parse(JSON.stringify(body))).toMatchObject({ data: reports });
  });

  it('has a report refused that is none', async () => {
    const manager = await managerForDevices();
    expect(await linkTo(manager).send({ hostname: '' } as WorkerReport, NEVER)).toBe('refused');
  });
});
