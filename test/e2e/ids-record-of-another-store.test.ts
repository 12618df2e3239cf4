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
import { changeMeta, inSection, recordFiles, replaceRecord } from '../support/record-files.ts';
import type { Worker } from '../support/worker.ts';

/** `meta.json` of another store: the same but for the fleet id and the highest id. */
function metaOfAnotherStore(files: Readonly<Record<string, string>>, highest: number): string {
  return JSON.stringify({ ...JSON.parse(files['meta.json'] ?? ''), fleet: 'f'.repeat(32), highest });
}

describe('the record of another store', () => {
  it('that appears while a manager runs is kept and logged once; the next start continues above it', async () => {
    const [manager, worker] = await startRecordedFleet();
    const files = await recordFiles(manager.repository);
    const { ids_seeded } = await statusOf(manager);
    const otherId = ids_seeded.floor + 1000;
    for (const [name, text] of Object.entries(files))
      files[name] = text.replace(new RegExp(`"web",${ids_seeded.floor}`), `"web",${otherId}`);
    await replaceRecord(
      manager.repository,
      inSection({ ...files, 'meta.json': metaOfAnotherStore(files, otherId) }),
    );
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
    expect(await webId(next)).toBeGreaterThan(otherId);
    expect(await recordTip(next)).not.toBe(tip);
    await expectFollows(worker, next);
  });

  it('is replaced once a user has deleted the ref', async () => {
    const [manager] = await startRecordedFleet();
    await changeMeta(manager.repository, { fleet: 'f'.repeat(32) });
    await manager.post(`${WEB}/restart`);
    await expect.poll(async () => (await statusOf(manager)).ids_record.problem).not.toBeNull();
    await manager.repository.git('update-ref', '-d', RECORD);
    await manager.post(`${WEB}/restart`);
    await expect.poll(async () => (await statusOf(manager)).ids_record.problem).toBeNull();
    expect(await recordTip(manager)).not.toBe('');
  });

  it('is taken over by a second manager on the repository; the first one continues above it at its next start', async () => {
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
    expect(await webId(again)).toBe(await pollWithoutActions(worker, again));
    await expectFollows(worker, again);
  });

  it('that follows another folder of the checkout stays in use: neither store raises ids of the other', async () => {
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

  it('that replaced the one of a running manager is reported by that manager alone', async () => {
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

/** Expects that a poll restarts nothing; resolves to the id of `web` that the device then has. */
async function pollWithoutActions(worker: Worker, manager: TestManager): Promise<number> {
  worker.actions = [];
  const { apps } = await worker.poll(manager);
  expect(worker.actions).toEqual([]);
  return apps.find(({ app_name }) => app_name === 'web')?.app_id ?? 0;
}
