import { join } from 'node:path';
import { DatabaseSync } from '@photostructure/sqlite';
import { describe, expect, it } from 'vitest';
import type { Clock } from '../../src/process/clock.ts';
import { SMALL_FLEET, startManager } from '../support/manager.ts';

const HOUR = 3_600_000;
const WEB = '/api/v2/apps/web';
const INFO = '/api/v2/device_groups/edge/info';

/** A clock that a test sets: the wall clock and the monotonic clock separately, in milliseconds. */
class ManualClock implements Clock {
  wall = Date.UTC(2030, 0, 1);
  monotonic = 1_000_000;
  readonly now = (): number => this.wall;
  readonly elapsed = (): number => this.monotonic;
}

async function start(settings: Record<string, string> = {}) {
  const clock = new ManualClock();
  return { clock, manager: await startManager({ files: SMALL_FLEET, clock, settings }) };
}

describe('a clock that is set back by hours', () => {
  it('still raises an id by one for each change, and lowers none', async () => {
    const { clock, manager } = await start();
    const ids = async (): Promise<number[]> => {
      const { apps, device_group_id: group, prune_id: prune } = (await manager.get(INFO)).body;
      return [...apps.map(({ app_id: id }: { app_id: number }) => id), group, prune];
    };
    const [web = 0, cron, group, prune = 0] = await ids();
    clock.wall -= 48 * HOUR;
    await manager.put(`${WEB}/update`, { container_image: 'nginx:1.27' });
    expect(await ids()).toEqual([web + 1, cron, group, prune]);
    clock.wall -= 48 * HOUR;
    await manager.post(`${WEB}/restart`);
    await manager.post('/api/v2/prune');
    expect(await ids()).toEqual([web + 2, cron, group, prune + 1]);
    const again = await manager.restart();
    expect((await again.get(WEB)).body.app_id).toBe(web + 2);
    await again.delete(WEB);
    expect((await again.post(WEB, { container_image: 'new' })).body.app_id).toBe(web + 3);
  });

  it('keeps the ids and the order of reports ascending, also after a restart', async () => {
    const { clock, manager } = await start();
    const report = (hostname: string) => ({ hostname, device_group: 'edge', report_creation_time: 1 });
    await manager.post('/api/v2/reports', report('first'));
    clock.wall -= 5 * HOUR;
    await manager.post('/api/v2/reports', report('second'));
    const again = await manager.restart();
    clock.wall -= 5 * HOUR;
    await again.post('/api/v2/reports', report('third'));
    const { data } = (await again.get('/api/v2/reports')).body;
    expect(data.map(({ hostname }: { hostname: string }) => hostname)).toEqual(['first', 'second', 'third']);
    const ids: string[] = data.map(({ _id }: { _id: { $oid: string } }) => _id.$oid);
    expect(ids).toEqual([...ids].sort());
    expect(new Set(ids).size).toBe(3);
  });

  it('does not delay the next try of a failed pass', async () => {
    const { clock, manager } = await start();
    const other = new DatabaseSync(join(manager.dataFolder, 'store.sqlite'), { timeout: 5000 });
    other.exec('BEGIN IMMEDIATE');
    await manager.repository.commit({ 'desired-state/apps/web.yaml': 'container_image: later\n' });
    await expect
      .poll(async () => (await manager.get('/api/v2/reconcile')).body.error, { timeout: 60_000 })
      .not.toBeNull();
    clock.wall -= 5 * HOUR;
    other.exec('ROLLBACK');
    other.close();
    await expect
      .poll(async () => (await manager.get(WEB)).body.container_image, { timeout: 60_000 })
      .toBe('later');
  });

  it('changes neither which password is accepted nor which is refused', async () => {
    const { clock, manager } = await start();
    expect((await manager.get(WEB)).status).toBe(200);
    clock.wall -= 5 * HOUR;
    clock.monotonic += 120_000;
    expect((await manager.get(WEB)).status).toBe(200);
    expect((await manager.get(WEB, { authorization: 'Basic b3BlcmF0b3I6d3Jvbmc=' })).status).toBe(401);
  });
});
