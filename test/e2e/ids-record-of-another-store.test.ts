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
import { loseStore, recordTip } from '../support/lost-store.ts';
import { SMALL_FLEET, startManager, type TestManager } from '../support/manager.ts';
import { changeMeta, RECORD, recordFiles, replaceRecord } from '../support/record-files.ts';
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
    await replaceRecord(manager.repository, { ...files, 'meta.json': metaOfAnotherStore(files, otherId) });
    const tree = (): Promise<string> => manager.repository.git('rev-parse', `${RECORD}^{tree}`);
    const before = await tree();
    await expectFollows(worker, manager);
    await expect
      .poll(async () => (await statusOf(manager)).ids_record.problem?.message)
      .toMatch(/another manager/);
    await manager.post(`${WEB}/restart`);
    await manager.stop();
    expect(await tree()).toBe(before);
    expect(logged(manager, 'ids are not recorded')).toHaveLength(1);

    const next = await manager.restart();
    expect((await statusOf(next)).ids_seeded).toMatchObject({ cause: 'another-store', record: 'used' });
    expect((await statusOf(next)).ids_record.problem).toBeNull();
    expect(await webId(next)).toBeGreaterThan(otherId);
    expect(await tree()).not.toBe(before);
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

  it('that replaced the one of a running manager is reported by both: in the log, and in the status for ten minutes', async () => {
    let clock = Date.now();
    const now = (): number => clock;
    const first = await startManager({ files: SMALL_FLEET, now });
    const ofFirst = await recordedFleet(first);
    clock += 3_600_000;
    const dataFolder = join(await temporaryFolder(), 'data');
    const second = await startManager({ repository: first.repository, dataFolder, now });
    expect(logged(second, OTHER)).toEqual([]);
    await first.reconcile();
    const other = async (manager: TestManager) => (await statusOf(manager)).ids_record.other_manager;
    await expect.poll(() => other(first)).toEqual({ fleet: await recordedFleet(second), at: isoTime(clock) });
    await expect
      .poll(async () => (await statusOf(first)).ids_record.problem?.message)
      .toMatch(/another manager/);
    await second.reconcile();
    await expect.poll(() => other(second)).toEqual({ fleet: ofFirst, at: isoTime(clock) });
    expect((await statusOf(second)).ids_record.problem).toBeNull();
    clock += 599_999;
    expect([await other(first), await other(second)]).not.toContain(null);
    clock += 1;
    expect([await other(first), await other(second)]).toEqual([null, null]);
    for (const manager of [first, second]) expect(logged(manager, OTHER)).toHaveLength(1);
  });

  it.each([
    [599_000, 1],
    [601_000, 0],
  ])('that was written %i ms before the start of a manager is in its log %i times', async (passed, times) => {
    let clock = Math.floor(Date.now() / 1000) * 1000;
    const now = (): number => clock;
    const first = await startManager({ files: SMALL_FLEET, now });
    await first.stop();
    clock += passed;
    const dataFolder = join(await temporaryFolder(), 'data');
    const second = await startManager({ repository: first.repository, dataFolder, now });
    expect(logged(second, OTHER)).toHaveLength(times);
  });
});

const OTHER =
  'a manager with another store has written the record of ids of this folder; run one manager per folder (with GIT_REMOTE, per folder and branch)';

const isoTime = (time: number): string => new Date(time).toISOString();

/** The fleet of the manager that wrote the record. */
async function recordedFleet({ repository }: TestManager): Promise<string> {
  return JSON.parse((await recordFiles(repository))['meta.json'] ?? '').fleet;
}

/** Expects that a poll restarts nothing; resolves to the id of `web` that the device then has. */
async function pollWithoutActions(worker: Worker, manager: TestManager): Promise<number> {
  worker.actions = [];
  const { apps } = await worker.poll(manager);
  expect(worker.actions).toEqual([]);
  return apps.find(({ app_name }) => app_name === 'web')?.app_id ?? 0;
}
