import { describe, expect, it } from 'vitest';
import {
  A,
  B,
  CRON_FILE,
  expectFollows,
  idsOf,
  push,
  recorded,
  seededOf,
  startFleetWithHistory,
  WEB,
  WEB_FILE,
} from '../support/fleet-with-history.ts';
import { copyData, loseStore, recordTip, restoreCopy, setRecord } from '../support/lost-store.ts';
import { SMALL_FLEET, type TestManager } from '../support/manager.ts';

describe('a store that was restored from an old copy', () => {
  it('is noticed by the sequence of the record; ids go on from there', async () => {
    const [manager, worker] = await startFleetWithHistory();
    await manager.stop();
    const copy = await copyData(manager);
    const second = await manager.restart();
    await push(second, { [WEB_FILE]: B });
    await second.post('/api/v2/apps/cron/restart');
    await second.post('/api/v2/prune');
    await worker.poll(second);
    worker.actions = [];
    const before = await idsOf(second);

    const next = await restoreCopy(second, copy);
    expect(await seededOf(next)).toMatchObject({ cause: 'older-than-record', record: 'used' });
    expect(await idsOf(next)).toEqual(before);
    await worker.poll(next);
    expect(worker.actions).toEqual([]);
    await next.post(`${WEB}/restart`);
    expect((await idsOf(next))['app web']).toBe((await seededOf(next)).floor);
    await expectFollows(worker, next);
  });

  it('a content that was there, went and came back is not taken for the old one', async () => {
    const [manager, worker] = await startFleetWithHistory();
    await manager.stop();
    const copy = await copyData(manager);
    const second = await manager.restart();
    await push(second, { [CRON_FILE]: 'container_image: busybox:2\n' });
    const tip = await recorded(second);
    await push(second, { [WEB_FILE]: B });
    await worker.poll(second);
    await push(second, { [WEB_FILE]: A });
    const next = await restoreCopy(second, copy, () => setRecord(second, tip));
    expect((await idsOf(next))['app web']).toBe((await seededOf(next)).floor);
    await expectFollows(worker, next);
  });

  it('after another store had begun anew, without a record: the higher of both ids counts', async () => {
    const [manager, worker] = await startFleetWithHistory();
    await manager.stop();
    const copy = await copyData(manager);
    const second = await loseStore(manager, () => setRecord(manager, ''));
    await push(second, { [WEB_FILE]: B, 'desired-state/apps/new.yaml': 'container_image: new:1\n' });
    const { body: fresh } = await second.get('/api/v2/apps/new');
    await worker.poll(second);
    worker.actions = [];
    const next = await restoreCopy(second, copy);
    expect(await seededOf(next)).toMatchObject({ cause: 'another-store', record: 'used' });
    await worker.poll(next);
    expect(worker.actions).toEqual([]);
    await next.put('/api/v2/apps/new/update', { container_image: 'new:2' });
    expect((await next.get('/api/v2/apps/new')).body.app_id).toBeGreaterThan(fresh.app_id);
    await expectFollows(worker, next);
  });

  it('a copy of the present state is nothing new', async () => {
    const [manager, worker] = await startFleetWithHistory();
    await manager.stop();
    const next = await restoreCopy(manager, await copyData(manager));
    expect(await seededOf(next)).toBeNull();
    await expectFollows(worker, next);
  });

  it('with its record lost too: the store is all there is', async () => {
    const [manager, worker] = await startFleetWithHistory();
    await manager.stop();
    const copy = await copyData(manager);
    const next = await restoreCopy(manager, copy, () => setRecord(manager, ''));
    expect(await seededOf(next)).toBeNull();
    await expect.poll(() => recordTip(next), { timeout: 60_000 }).not.toBe('');
    await expectFollows(worker, next);
  });
});

describe('a record that is behind', () => {
  it('the store: it is brought up, and nothing else happens', async () => {
    const [manager, worker] = await startFleetWithHistory();
    const tip = await recorded(manager);
    await push(manager, { [WEB_FILE]: B });
    const before = await idsOf(manager);
    await manager.stop();
    await setRecord(manager, tip);
    const next = await manager.restart();
    expect(await seededOf(next)).toBeNull();
    expect(await idsOf(next)).toEqual(before);
    await expect.poll(() => recordTip(next), { timeout: 60_000 }).not.toBe(tip);
    await expectFollows(worker, next);
  });

  it.each([
    ['by commits', async (manager: TestManager) => void (await push(manager, { [WEB_FILE]: A }))],
    [
      'by moving the branch',
      async (manager: TestManager) => {
        await manager.repository.git('reset', '--quiet', '--hard', 'HEAD~1');
        await manager.reconcile();
      },
    ],
    [
      'by switching branches',
      async (manager: TestManager) => {
        await manager.repository.git('checkout', '--quiet', '-b', 'side', 'HEAD~1');
        await manager.reconcile();
      },
    ],
  ])('a lost store: a content that went and came back %s starts anew', async (_, comeBack) => {
    const [manager, worker] = await startFleetWithHistory();
    await push(manager, { [CRON_FILE]: 'container_image: busybox:2\n' });
    const tip = await recorded(manager);
    const before = await idsOf(manager);
    await push(manager, { [WEB_FILE]: B });
    await worker.poll(manager);
    expect(worker.containers.get('web')).toContain('nginx:b');
    await comeBack(manager);
    // The device is away while the old content is served.
    const next = await loseStore(manager, () => setRecord(manager, tip));
    expect(await idsOf(next)).toEqual({ ...before, 'app web': (await seededOf(next)).floor });
    await expectFollows(worker, next);
  });

  it('a lost store: a group that another file held back can have changed, too', async () => {
    const [manager, worker] = await startFleetWithHistory();
    const group = 'desired-state/device-groups/edge.yaml';
    const late = 'desired-state/apps/late.yaml';
    await push(manager, { [group]: 'apps: [web, cron, late]\n', [late]: 'container_image: [\n' });
    const tip = await recorded(manager);
    await push(manager, { [late]: 'container_image: late\n' });
    await worker.poll(manager);
    expect([...worker.containers.keys()]).toContain('late');
    await push(manager, { [late]: null });
    const next = await loseStore(manager, () => setRecord(manager, tip));
    await push(next, { [group]: SMALL_FLEET['device-groups/edge.yaml'] });
    expect((await idsOf(next))['group edge']).toBeGreaterThanOrEqual((await seededOf(next)).floor);
    await expectFollows(worker, next);
  });

  it('a lost store: of restarts nothing but the number is forgotten', async () => {
    const [manager, worker] = await startFleetWithHistory();
    const tip = await recorded(manager);
    const before = await idsOf(manager);
    await manager.post(`${WEB}/restart`);
    await manager.post('/api/v2/prune');
    await worker.poll(manager);
    const next = await loseStore(manager, () => setRecord(manager, tip));
    expect(await idsOf(next)).toEqual(before);
    await expectFollows(worker, next);
  });
});
