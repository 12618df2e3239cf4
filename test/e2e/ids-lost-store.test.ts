import { describe, expect, it } from 'vitest';
import {
  A,
  B,
  C,
  expectFollows,
  idsOf,
  push,
  seededOf,
  startFleetWithHistory,
  WEB,
  WEB_FILE,
} from '../support/fleet-with-history.ts';
import { loseStore, recordTip, setRecord } from '../support/lost-store.ts';

describe('a lost store, with the record there', () => {
  it('no id changes and no container restarts; the next change of each name jumps to the floor', async () => {
    const [manager, worker] = await startFleetWithHistory();
    const before = await idsOf(manager);
    const next = await loseStore(manager);
    expect(await idsOf(next)).toEqual(before);
    expect(await seededOf(next)).toMatchObject({ cause: 'no-counters', record: 'used', kept: 3 });
    await worker.poll(next);
    expect(worker.actions).toEqual([]);

    const { floor } = await seededOf(next);
    expect(floor).toBeGreaterThan(Math.max(...Object.values(before)));
    await push(next, { [WEB_FILE]: B });
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

  it('again and again', async () => {
    let [manager, worker] = await startFleetWithHistory();
    for (const text of [B, A, C]) {
      const before = await idsOf(manager);
      manager = await loseStore(manager);
      expect(await idsOf(manager)).toEqual(before);
      await push(manager, { [WEB_FILE]: text });
      expect(worker.agreesWith(await worker.poll(manager))).toBe(true);
    }
    await expectFollows(worker, manager);
  });

  it('a name that was deleted goes on above what it ever had', async () => {
    const [manager] = await startFleetWithHistory();
    await manager.post('/api/v2/apps/gone', { container_image: 'a' });
    await manager.delete('/api/v2/apps/gone');
    const next = await loseStore(manager);
    const { floor } = await seededOf(next);
    const { body } = await next.post('/api/v2/apps/gone', { container_image: 'a' });
    expect(body.app_id).toBe(floor);
    expect((await next.post('/api/v2/apps/never', { container_image: 'a' })).body.app_id).toBe(1);
  });

  it('what changed while nobody served is the only thing that restarts', async () => {
    const [manager, worker] = await startFleetWithHistory();
    const before = await idsOf(manager);
    const next = await loseStore(manager, () => manager.repository.commit({ [WEB_FILE]: B }));
    const { floor } = await seededOf(next);
    expect(await idsOf(next)).toEqual({ ...before, 'app web': floor });
    await worker.poll(next);
    expect(worker.actions).toEqual(['restart web']);
    await expectFollows(worker, next);
  });

  it('commits of comments alone do not cost a restart', async () => {
    const [manager, worker] = await startFleetWithHistory();
    await push(manager, { [WEB_FILE]: `# told\n${A}` });
    await manager.repository.commit({ 'elsewhere.txt': 'x' });
    const before = await idsOf(manager);
    const next = await loseStore(manager);
    expect(await idsOf(next)).toEqual(before);
    await expectFollows(worker, next);
  });
});

describe('a lost store, without the record', () => {
  it('all known names start at the floor, and the device follows', async () => {
    const [manager, worker] = await startFleetWithHistory();
    const next = await loseStore(manager, () => setRecord(manager, ''));
    const { floor, record } = await seededOf(next);
    expect(record).toBe('none');
    expect(new Set(Object.values(await idsOf(next)))).toEqual(new Set([floor]));
    expect(await recordTip(next)).not.toBe('');
    await expectFollows(worker, next);
  });

  it('the clock was set back: the newest commit counts', async () => {
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

describe('a lost store, with the record there, and a clock that was set back', () => {
  it('the highest recorded id counts', async () => {
    const future = Date.now() + 1e12;
    const [manager, worker] = await startFleetWithHistory({ now: () => future });
    const highest = Math.max(...Object.values(await idsOf(manager)));
    expect(highest).toBeGreaterThanOrEqual(future / 1000);
    const { now } = Date;
    const next = await loseStore(manager, () => manager.repository.commit({ [WEB_FILE]: B }), { now });
    expect((await seededOf(next)).floor).toBeGreaterThan(highest);
    await expectFollows(worker, next);
  });
});
