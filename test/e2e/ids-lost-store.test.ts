import { describe, expect, it } from 'vitest';
import {
  commitAndApply,
  expectFollows,
  idsOf,
  seededOf,
  startFleetWithHistory,
  WEB,
  WEB_A,
  WEB_B,
  WEB_C,
  WEB_FILE,
} from '../support/fleet-with-history.ts';
import { loseStore, recordTip, setRecord } from '../support/lost-store.ts';

describe('a lost store whose record of ids is there', () => {
  it('keeps every id and restarts no container; the next change of each name jumps to the floor', async () => {
    const [manager, worker] = await startFleetWithHistory();
    const before = await idsOf(manager);
    const next = await loseStore(manager);
    expect(await idsOf(next)).toEqual(before);
    expect(await seededOf(next)).toMatchObject({ cause: 'no-counters', record: 'used', kept: 3 });
    await worker.poll(next);
    expect(worker.actions).toEqual([]);

    const { floor } = await seededOf(next);
    expect(floor).toBeGreaterThan(Math.max(...Object.values(before)));
    await commitAndApply(next, { [WEB_FILE]: WEB_B });
    await next.post('/api/v2/apps/cron/restart');
    await next.post('/api/v2/prune');
    expect(await idsOf(next)).toEqual({
      ...before,
      'app web': floor,
      'app cron': floor,
      'prune edge': floor,
    });
    await expectFollows(worker, next);
  });

  it('keeps every id when the store is lost again and again, with changes in between', async () => {
    let [manager, worker] = await startFleetWithHistory();
    for (const text of [WEB_B, WEB_A, WEB_C]) {
      const before = await idsOf(manager);
      manager = await loseStore(manager);
      expect(await idsOf(manager)).toEqual(before);
      await commitAndApply(manager, { [WEB_FILE]: text });
      expect(worker.agreesWith(await worker.poll(manager))).toBe(true);
    }
    await expectFollows(worker, manager);
  });

  it('continues a deleted name at the floor, and starts an unknown name at 1', async () => {
    const [manager] = await startFleetWithHistory();
    await manager.post('/api/v2/apps/gone', { container_image: 'a' });
    await manager.delete('/api/v2/apps/gone');
    const next = await loseStore(manager);
    const { floor } = await seededOf(next);
    const { body } = await next.post('/api/v2/apps/gone', { container_image: 'a' });
    expect(body.app_id).toBe(floor);
    expect((await next.post('/api/v2/apps/never', { container_image: 'a' })).body.app_id).toBe(1);
  });

  it('restarts only the app that was changed by a commit while no manager was running', async () => {
    const [manager, worker] = await startFleetWithHistory();
    const before = await idsOf(manager);
    const next = await loseStore(manager, () => manager.repository.commit({ [WEB_FILE]: WEB_B }));
    const { floor } = await seededOf(next);
    expect(await idsOf(next)).toEqual({ ...before, 'app web': floor });
    await worker.poll(next);
    expect(worker.actions).toEqual(['restart web']);
    await expectFollows(worker, next);
  });

  it('keeps every id if the latest commits changed only comments or files outside the folder', async () => {
    const [manager, worker] = await startFleetWithHistory();
    await commitAndApply(manager, { [WEB_FILE]: `# a comment\n${WEB_A}` });
    await manager.repository.commit({ 'elsewhere.txt': 'x' });
    const before = await idsOf(manager);
    const next = await loseStore(manager);
    expect(await idsOf(next)).toEqual(before);
    await expectFollows(worker, next);
  });
});

describe('a lost store whose record of ids is lost too', () => {
  it('starts every known name at the floor, which devices follow', async () => {
    const [manager, worker] = await startFleetWithHistory();
    const next = await loseStore(manager, () => setRecord(manager, ''));
    const { floor, record } = await seededOf(next);
    expect(record).toBe('none');
    expect(new Set(Object.values(await idsOf(next)))).toEqual(new Set([floor]));
    expect(await recordTip(next)).not.toBe('');
    await expectFollows(worker, next);
  });

  it('takes the time of the newest commit as the floor if the clock was set back', async () => {
    let clock = Date.now();
    const [manager, worker] = await startFleetWithHistory({ now: () => clock });
    clock += 3_600_000;
    await manager.put(`${WEB}/update`, { privileged: true });
    await worker.poll(manager);
    const next = await loseStore(manager, () => setRecord(manager, ''), { now: () => 1000 });
    expect((await seededOf(next)).floor).toBe(Math.floor(clock / 1000));
    await expectFollows(worker, next);
  });
});

describe('a lost store whose record of ids is there, and a clock that was set back', () => {
  it('sets the floor above the highest recorded id', async () => {
    const future = Date.now() + 1e12;
    const [manager, worker] = await startFleetWithHistory({ now: () => future });
    const highest = Math.max(...Object.values(await idsOf(manager)));
    expect(highest).toBeGreaterThanOrEqual(future / 1000);
    const { now } = Date;
    const next = await loseStore(manager, () => manager.repository.commit({ [WEB_FILE]: WEB_B }), { now });
    expect((await seededOf(next)).floor).toBeGreaterThan(highest);
    await expectFollows(worker, next);
  });
});
