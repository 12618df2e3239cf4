import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import {
  expectFollows,
  logged,
  startRecordedFleet,
  statusOf,
  WEB,
  webId,
} from '../support/fleet-with-history.ts';
import { temporaryFolder } from '../support/folder.ts';
import { loseStore, RECORD, recordTip } from '../support/lost-store.ts';
import { SMALL_FLEET, startManager, type TestManager } from '../support/manager.ts';
import { changeMeta, forgeRecord, inSection, recordFiles } from '../support/record-files.ts';
import type { Worker } from '../support/worker.ts';

function foreignMeta(files: Readonly<Record<string, string>>, highest: number): string {
  return JSON.stringify({ ...JSON.parse(files['meta.json'] ?? ''), fleet: 'f'.repeat(32), highest });
}

describe('the record of another store', () => {
  it('that comes while a manager runs is left alone, and said once; the next start goes on above both', async () => {
    const [manager, worker] = await startRecordedFleet();
    const files = await recordFiles(manager.repository);
    const { ids_seeded } = await statusOf(manager);
    const theirs = ids_seeded.floor + 1000;
    for (const [name, text] of Object.entries(files))
      files[name] = text.replace(new RegExp(`"web",${ids_seeded.floor}`), `"web",${theirs}`);
    await forgeRecord(manager.repository, inSection({ ...files, 'meta.json': foreignMeta(files, theirs) }));
    const tip = await recordTip(manager);
    await expectFollows(worker, manager);
    await expect
      .poll(async () => (await statusOf(manager)).ids_record.problem?.message)
      .toMatch(/another manager/);
    await manager.post(`${WEB}/restart`);
    await manager.stop();
    expect(await recordTip(manager)).toBe(tip);
    expect(logged(manager, 'ids are not recorded')).toHaveLength(1);

    const next = await manager.restart();
    expect((await statusOf(next)).ids_seeded).toMatchObject({ cause: 'another-store', record: 'used' });
    expect((await statusOf(next)).ids_record.problem).toBeNull();
    expect(await webId(next)).toBeGreaterThan(theirs);
    expect(await recordTip(next)).not.toBe(tip);
    await expectFollows(worker, next);
  });

  it('is replaced once a person deletes the ref', async () => {
    const [manager] = await startRecordedFleet();
    await changeMeta(manager.repository, { fleet: 'f'.repeat(32) });
    await manager.post(`${WEB}/restart`);
    await expect.poll(async () => (await statusOf(manager)).ids_record.problem).not.toBeNull();
    await manager.repository.git('update-ref', '-d', RECORD);
    await manager.post(`${WEB}/restart`);
    await expect.poll(async () => (await statusOf(manager)).ids_record.problem).toBeNull();
    expect(await recordTip(manager)).not.toBe('');
  });

  it('a second manager on the repository takes it over; the first goes on above it at its next start', async () => {
    const [first, worker] = await startRecordedFleet();
    await first.post(`${WEB}/restart`);
    await first.stop();
    const second = await startManager({
      repository: first.repository,
      dataFolder: join(await temporaryFolder(), 'data'),
    });
    expect((await statusOf(second)).ids_seeded).toMatchObject({ record: 'used', kept: 3 });
    await second.put(`${WEB}/update`, { privileged: true });
    await worker.poll(second);
    await second.stop();
    const again = await first.restart();
    expect((await statusOf(again)).ids_seeded).toMatchObject({ cause: 'another-store', record: 'used' });
    expect(await webId(again)).toBe(await lastId(worker, again));
    await expectFollows(worker, again);
  });

  it('of another folder of the same checkout: both record, and none raises an id of the other', async () => {
    const [first] = await startRecordedFleet();
    const { repository } = first;
    const beside = Object.entries(SMALL_FLEET).map(([path, text]) => [`production/${path}`, text]);
    await repository.commit(Object.fromEntries(beside));
    const settings = { DESIRED_STATE: join(repository.folder, 'production') };
    const dataFolder = join(await temporaryFolder(), 'data');
    const second = await startManager({ repository, dataFolder, settings });
    await Promise.all([first.post(`${WEB}/restart`), second.post(`${WEB}/restart`)]);
    const ids = [await webId(first), await webId(second)];
    await Promise.all([first.stop(), second.stop()]);
    for (const manager of [first, second]) expect(logged(manager, 'ids are not recorded')).toEqual([]);
    const lost = [await loseStore(first), await loseStore(second, undefined, { settings })];
    expect(await Promise.all(lost.map(webId))).toEqual(ids);
  });

  it('two managers at once: the one whose record was taken over says so', async () => {
    const [first] = await startRecordedFleet();
    const second = await startManager({
      repository: first.repository,
      dataFolder: join(await temporaryFolder(), 'data'),
    });
    await first.post(`${WEB}/restart`);
    await expect
      .poll(async () => (await statusOf(first)).ids_record.problem?.message)
      .toMatch(/another manager/);
    expect((await statusOf(second)).ids_record.problem).toBeNull();
  });
});

/** What the device saw of the app is what it sees now: nothing restarts. */
async function lastId(worker: Worker, manager: TestManager): Promise<number> {
  worker.actions = [];
  const { apps } = await worker.poll(manager);
  expect(worker.actions).toEqual([]);
  return apps.find(({ app_name }) => app_name === 'web')?.app_id ?? 0;
}
