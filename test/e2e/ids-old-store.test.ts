import { describe, expect, it } from 'vitest';
import {
  CRON_FILE,
  commitAndApply,
  expectFollows,
  idsOf,
  seededOf,
  startFleetWithHistory,
  WEB,
  WEB_A,
  WEB_B,
  WEB_FILE,
  waitForRecord,
} from '../support/fleet-with-history.ts';
import { copyData, loseStore, recordTip, restoreCopy, setRecord } from '../support/lost-store.ts';

describe('a store that was restored from an old copy', () => {
  it('is recognized, since the record is ahead: recorded ids are kept, and the next change jumps to the floor', async () => {
    const [manager, worker] = await startFleetWithHistory();
    await manager.stop();
    const copy = await copyData(manager);
    const second = await manager.restart();
    await commitAndApply(second, { [WEB_FILE]: WEB_B });
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

  it('gives a new id to an app that was changed and changed back after the record was written', async () => {
    const [manager, worker] = await startFleetWithHistory();
    await manager.stop();
    const copy = await copyData(manager);
    const second = await manager.restart();
    await commitAndApply(second, { [CRON_FILE]: 'container_image: busybox:2\n' });
    const tip = await waitForRecord(second);
    await commitAndApply(second, { [WEB_FILE]: WEB_B });
    await worker.poll(second);
    await commitAndApply(second, { [WEB_FILE]: WEB_A });
    const next = await restoreCopy(second, copy, () => setRecord(second, tip));
    expect((await idsOf(next))['app web']).toBe((await seededOf(next)).floor);
    await expectFollows(worker, next);
  });

  it('continues above the ids of a new store that replaced it meanwhile and wrote the record again', async () => {
    const [manager, worker] = await startFleetWithHistory();
    await manager.stop();
    const copy = await copyData(manager);
    const second = await loseStore(manager, () => setRecord(manager, ''));
    await commitAndApply(second, {
      [WEB_FILE]: WEB_B,
      'desired-state/apps/new.yaml': 'container_image: new:1\n',
    });
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

  it('changes nothing if the copy is as new as the record', async () => {
    const [manager, worker] = await startFleetWithHistory();
    await manager.stop();
    const next = await restoreCopy(manager, await copyData(manager));
    expect(await seededOf(next)).toBeNull();
    await expectFollows(worker, next);
  });

  it('continues with its own ids if the record is lost too, and writes a new record', async () => {
    const [manager, worker] = await startFleetWithHistory();
    await manager.stop();
    const copy = await copyData(manager);
    const next = await restoreCopy(manager, copy, () => setRecord(manager, ''));
    expect(await seededOf(next)).toBeNull();
    await expect.poll(() => recordTip(next), { timeout: 60_000 }).not.toBe('');
    await expectFollows(worker, next);
  });
});

describe('a record of ids that is older than the store', () => {
  it('is updated at the next start, which changes no id', async () => {
    const [manager, worker] = await startFleetWithHistory();
    const tip = await waitForRecord(manager);
    await commitAndApply(manager, { [WEB_FILE]: WEB_B });
    const before = await idsOf(manager);
    await manager.stop();
    await setRecord(manager, tip);
    const next = await manager.restart();
    expect(await seededOf(next)).toBeNull();
    expect(await idsOf(next)).toEqual(before);
    await expect.poll(() => recordTip(next), { timeout: 60_000 }).not.toBe(tip);
    await expectFollows(worker, next);
  });

  it('gives an app a new id after a lost store if it was changed and changed back', async () => {
    const [manager, worker] = await startFleetWithHistory();
    await commitAndApply(manager, { [CRON_FILE]: 'container_image: busybox:2\n' });
    const tip = await waitForRecord(manager);
    const before = await idsOf(manager);
    await commitAndApply(manager, { [WEB_FILE]: WEB_B });
    await worker.poll(manager);
    expect(worker.containers.get('web')).toContain('nginx:b');
    await commitAndApply(manager, { [WEB_FILE]: WEB_A });
    // The device does not poll while the old content is served again.
    const next = await loseStore(manager, () => setRecord(manager, tip));
    expect(await idsOf(next)).toEqual({ ...before, 'app web': (await seededOf(next)).floor });
    await expectFollows(worker, next);
  });

  it('forgets later restarts and prunes after a lost store, but the next change raises ids above them', async () => {
    const [manager, worker] = await startFleetWithHistory();
    const tip = await waitForRecord(manager);
    const before = await idsOf(manager);
    await manager.post(`${WEB}/restart`);
    await manager.post('/api/v2/prune');
    await worker.poll(manager);
    const next = await loseStore(manager, () => setRecord(manager, tip));
    expect(await idsOf(next)).toEqual(before);
    await expectFollows(worker, next);
  });
});
