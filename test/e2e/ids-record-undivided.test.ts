import { describe, expect, it } from 'vitest';
import { forgeRecord, makeUndivided, recordFiles, sectionVersion } from '../support/forge.ts';
import {
  B,
  expectFollows,
  idsOf,
  livedFleet,
  logged,
  PATIENCE,
  push,
  recorded,
  recordedFleet,
  seededOf,
  statusOf,
  WEB,
  WEB_FILE,
  webId,
} from '../support/lived-fleet.ts';
import { copyData, loseStore, restoreCopy } from '../support/loss.ts';

const REWRITTEN = 'the record of ids could not be read and was rewritten';

describe('a record from before there were sections', () => {
  it('becomes one with a section, and raises nothing where the store lives', async () => {
    const [manager, worker] = await livedFleet();
    await recorded(manager);
    const before = await idsOf(manager);
    const section = await sectionVersion(manager.repository);
    await manager.stop();
    await makeUndivided(manager.repository);
    const next = await manager.restart();
    await expect.poll(() => sectionVersion(next.repository), PATIENCE).toBe(section);
    expect(await idsOf(next)).toEqual(before);
    expect(await statusOf(next)).toMatchObject({
      ids_seeded: null,
      ids_record: { problem: null, replaced: null },
    });
    expect(logged(next, REWRITTEN)).toEqual([]);
    expect(Object.keys(await recordFiles(next.repository))).toContain('meta.json');
    await expectFollows(worker, next);
  });

  it('says that a store was restored from an old copy; ids go on from there', async () => {
    const [manager, worker] = await livedFleet();
    await manager.stop();
    const copy = await copyData(manager);
    const second = await manager.restart();
    await push(second, { [WEB_FILE]: B });
    await second.post('/api/v2/apps/cron/restart');
    await worker.poll(second);
    worker.actions = [];
    await recorded(second);
    const before = await idsOf(second);
    const next = await restoreCopy(second, copy, () => makeUndivided(second.repository));
    expect(await seededOf(next)).toMatchObject({ cause: 'older-than-record', record: 'used' });
    expect(await idsOf(next)).toEqual(before);
    await worker.poll(next);
    expect(worker.actions).toEqual([]);
    await next.post(`${WEB}/restart`);
    expect(await webId(next)).toBe((await seededOf(next)).floor);
    await expectFollows(worker, next);
  });

  it('spares a lost store the restarts', async () => {
    const [manager, worker] = await livedFleet();
    await recorded(manager);
    const before = await idsOf(manager);
    const next = await loseStore(manager, () => makeUndivided(manager.repository));
    expect(await seededOf(next)).toMatchObject({ cause: 'no-counters', record: 'used' });
    expect(await idsOf(next)).toEqual(before);
    await expectFollows(worker, next);
  });

  it('of another folder is none', async () => {
    const [manager, worker] = await recordedFleet();
    const next = await loseStore(manager, async () => {
      await makeUndivided(manager.repository);
      const text = await manager.repository.git('show', 'refs/holdfast/ids:meta.json');
      const names = (await manager.repository.git('ls-tree', '--name-only', 'refs/holdfast/ids')).split('\n');
      const files = names.map(async (name) => [
        name,
        await manager.repository.show(name, 'refs/holdfast/ids'),
      ]);
      const meta = JSON.stringify({ ...JSON.parse(text), place: 'elsewhere' });
      return forgeRecord(manager.repository, {
        ...Object.fromEntries(await Promise.all(files)),
        'meta.json': meta,
      });
    });
    const seeded = await seededOf(next);
    expect(seeded).toMatchObject({ cause: 'no-counters', record: 'damaged', kept: 0 });
    expect(await webId(next)).toBe(seeded.floor);
    await expectFollows(worker, next);
  });
});
