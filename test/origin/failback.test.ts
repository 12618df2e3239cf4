import { cp, rename, rm } from 'node:fs/promises';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { statusOf, WEB, webId } from '../support/fleet-with-history.ts';
import { temporaryFolder } from '../support/folder.ts';
import { repositoryAt } from '../support/git.ts';
import { copyData } from '../support/lost-store.ts';
import { SMALL_FLEET, type TestManager } from '../support/manager.ts';
import { startFollower, type TestOrigin, testOrigin } from '../support/origin.ts';
import { REMOTE_RECORD as RECORD } from '../support/record-files.ts';
import { Worker } from '../support/worker.ts';
import { refuseRecord } from './refuse-record.ts';

const recordAt = ({ bare }: TestOrigin): Promise<string> =>
  bare.git('for-each-ref', '--format=%(objectname)', RECORD);

/** Whether everything that the manager has applied is recorded. */
async function isRecorded(manager: TestManager): Promise<boolean> {
  const { ids_record, revision_applied } = await statusOf(manager);
  return ids_record.revision === revision_applied;
}

const mirrorOf = ({ dataFolder }: TestManager) => repositoryAt(join(dataFolder, 'mirror.git'));

async function newDataFolder(): Promise<string> {
  return join(await temporaryFolder(), 'data');
}

/** Changes the image of `web`; resolves to the id of the app after that. */
async function changeImage(manager: TestManager, image: string): Promise<number> {
  const { status, body } = await manager.put(`${WEB}/update`, { container_image: image });
  expect(status).toBe(202);
  return body.app_id;
}

/** An origin, and a manager that has served a device before and after a change; `id` is that of the changed app. */
async function servedOrigin() {
  const origin = await testOrigin(SMALL_FLEET);
  const first = await startFollower(origin);
  const worker = new Worker();
  await worker.poll(first);
  const id = await changeImage(first, 'web:2');
  await worker.poll(first);
  return { origin, first, worker, id };
}

/** Checks that the device runs what the manager wants, and that the next change reaches it too. */
async function expectFollows(worker: Worker, manager: TestManager): Promise<void> {
  expect(worker.agreesWith(await worker.poll(manager))).toBe(true);
  await changeImage(manager, 'web:next');
  worker.actions = [];
  expect(worker.agreesWith(await worker.poll(manager))).toBe(true);
  expect(worker.actions).toEqual(['restart web']);
}

/** Lets another manager, with its own store, serve the same devices for a while. Resolves to the last id of `web`. */
async function failOver(origin: TestOrigin, worker: Worker, images: readonly string[]): Promise<number> {
  const second = await startFollower(origin, { dataFolder: await newDataFolder() });
  for (const image of images) await changeImage(second, image);
  await second.post(`${WEB}/restart`);
  await worker.poll(second);
  const id = await webId(second);
  await second.stop();
  return id;
}

describe('a manager that comes back after another one has served its devices', () => {
  it('takes over the ids that the other one gave, and goes on above them', async () => {
    const { origin, first, worker } = await servedOrigin();
    await first.stop();
    const theirs = await failOver(origin, worker, ['web:3', 'web:4']);
    const again = await first.restart();
    expect((await statusOf(again)).ids_seeded).toMatchObject({ cause: 'another-store', record: 'used' });
    expect((await statusOf(again)).ids_record.problem).toBeNull();
    expect(await webId(again)).toBe(theirs);
    worker.actions = [];
    await worker.poll(again);
    expect(worker.actions).toEqual([]);
    await expectFollows(worker, again);
  });

  it('while origin is unreachable serves its old state, and gives only higher ids once origin is back', async () => {
    const { origin, first, worker, id } = await servedOrigin();
    await first.stop();
    // No commits: the branch stays where the first manager's mirror has it, so the first write pushes without a fetch.
    const theirs = await failOver(origin, worker, []);
    expect(theirs).toBeGreaterThan(id);
    await rename(origin.url, `${origin.url}.away`);
    const again = await first.restart();
    expect(await webId(again)).toBe(id);
    expect((await again.get('/api/v2/device_groups/edge/info')).status).toBe(200);
    await rename(`${origin.url}.away`, origin.url);
    expect(await changeImage(again, 'web:3')).toBeGreaterThan(theirs);
    expect((await statusOf(again)).ids_seeded).toMatchObject({ cause: 'another-store' });
    await expectFollows(worker, again);
  });

  it('with new defaults while origin is unreachable applies them, with higher ids, once origin is back', async () => {
    const { origin, first, worker, id } = await servedOrigin();
    await first.stop();
    const theirs = await failOver(origin, worker, []);
    await rename(origin.url, `${origin.url}.away`);
    const again = await first.restart({ DEFAULT_NETWORKS: 'nebula' });
    expect(await webId(again)).toBe(id);
    await rename(`${origin.url}.away`, origin.url);
    await again.reconcile();
    expect((await again.get(WEB)).body.networks).toEqual(['nebula']);
    expect(await webId(again)).toBeGreaterThan(theirs);
    await expectFollows(worker, again);
  });

  it('drops replies that it cached before it learned of higher ids', async () => {
    const { origin, first, worker } = await servedOrigin();
    await first.post('/api/v2/device_groups/edge/prune');
    await first.stop();
    const theirs = await failOver(origin, worker, []);
    await rename(origin.url, `${origin.url}.away`);
    const again = await first.restart({ CACHE_TIME: '3600' });
    const device = new Worker();
    await device.poll(again);
    await rename(`${origin.url}.away`, origin.url);
    await again.reconcile();
    device.actions = [];
    const { apps } = await device.poll(again);
    expect(apps.find(({ app_name }) => app_name === 'web')?.app_id).toBe(theirs);
    expect(device.actions).toEqual(['restart web']);
  });

  it("gives ids above its own and the other one's if it raised an id while origin was unreachable", async () => {
    const { origin, first, worker } = await servedOrigin();
    await first.stop();
    const theirs = await failOver(origin, worker, ['web:3']);
    await rename(origin.url, `${origin.url}.away`);
    const again = await first.restart();
    expect((await again.post(`${WEB}/restart`)).status).toBe(202);
    const own = await webId(again);
    await worker.poll(again);
    await rename(`${origin.url}.away`, origin.url);
    await again.reconcile();
    expect(await webId(again)).toBeGreaterThanOrEqual(theirs);
    await expectFollows(worker, again);
    expect(await webId(again)).toBeGreaterThan(Math.max(own, theirs));
  });
});

describe('a data folder that was restored from an old copy, with its mirror', () => {
  it('is found to be older than the record at origin, so no id is given twice', async () => {
    const { origin, first, worker } = await servedOrigin();
    await first.stop();
    const copy = await copyData(first);
    const second = await first.restart();
    for (const image of ['web:3', 'web:4', 'web:5']) await changeImage(second, image);
    await second.post(`${WEB}/restart`);
    await worker.poll(second);
    const last = await webId(second);
    await second.stop();
    await rm(first.dataFolder, { recursive: true });
    await cp(copy, first.dataFolder, { recursive: true });
    const restored = await startFollower(origin, { dataFolder: first.dataFolder });
    expect((await statusOf(restored)).ids_seeded).toMatchObject({
      cause: 'older-than-record',
      record: 'used',
    });
    expect(await webId(restored)).toBe(last);
    await expectFollows(worker, restored);
  });

  it('and raised as many ids before it reached origin, gives only higher ids from then on', async () => {
    const { origin, first, worker } = await servedOrigin();
    await first.stop();
    const copy = await copyData(first);
    const second = await first.restart();
    for (const image of ['web:3', 'web:2']) await changeImage(second, image);
    await worker.poll(second);
    const last = await webId(second);
    await second.stop();
    await rm(first.dataFolder, { recursive: true });
    await cp(copy, first.dataFolder, { recursive: true });
    await rename(origin.url, `${origin.url}.away`);
    const restored = await startFollower(origin, { dataFolder: first.dataFolder });
    for (const _ of ['as many', 'ids']) await restored.post('/api/v2/apps/cron/restart');
    await rename(`${origin.url}.away`, origin.url);
    await restored.reconcile();
    expect(await webId(restored)).toBeGreaterThanOrEqual(last);
    const { ids_seeded, ids_record } = await statusOf(restored);
    expect([ids_seeded.cause, ids_record.problem]).toEqual(['older-than-record', null]);
    await worker.poll(restored);
    await expectFollows(worker, restored);
  });
});

describe('a record that is newer at origin than in the mirror', () => {
  it('is the one from which a lost store continues', async () => {
    const { first } = await servedOrigin();
    await expect.poll(() => isRecorded(first)).toBe(true);
    const old = await mirrorOf(first).git('rev-parse', RECORD);
    await first.post(`${WEB}/restart`);
    const id = await webId(first);
    await first.stop();
    // As if the manager was killed between the push and the move of the mirror's own ref.
    await mirrorOf(first).git('update-ref', RECORD, old);
    await mirrorOf(first).git('update-ref', RECORD.replace('record', 'origin-record'), old);
    await rm(join(first.dataFolder, 'store.sqlite'));
    expect(await webId(await first.restart())).toBe(id);
  });
});

describe('an origin that does not accept the record any more', () => {
  async function refusedOrigin() {
    const served = await servedOrigin();
    const { origin, first, worker } = served;
    await expect.poll(() => recordAt(origin)).not.toBe('');
    const acceptAgain = await refuseRecord(origin);
    await first.post(`${WEB}/restart`);
    await worker.poll(first);
    const id = await webId(first);
    await first.stop();
    return { ...served, id, acceptAgain };
  }

  it('leaves the newer record to the mirror, from which a lost store takes its ids', async () => {
    const { first, worker, id } = await refusedOrigin();
    await rm(join(first.dataFolder, 'store.sqlite'));
    const next = await first.restart();
    expect(await webId(next)).toBe(id);
    await expectFollows(worker, next);
  });

  it('and later accepts one of another manager: that one counts', async () => {
    const { origin, first, worker, acceptAgain } = await refusedOrigin();
    await acceptAgain();
    const theirs = await failOver(origin, worker, ['web:3']);
    const again = await first.restart();
    expect((await statusOf(again)).ids_seeded).toMatchObject({ cause: 'another-store', record: 'used' });
    expect(await webId(again)).toBe(theirs);
    await expectFollows(worker, again);
  });
});

describe('two managers with a store each that run at once', () => {
  it('let the one that took over the record write it, and the other one reports that', async () => {
    const { origin, first } = await servedOrigin();
    // If the first manager wrote its record later, the second one would take that for the record of another manager.
    await expect.poll(() => isRecorded(first)).toBe(true);
    const second = await startFollower(origin, { dataFolder: await newDataFolder() });
    const { ids_seeded, ids_record } = await statusOf(second);
    expect([ids_seeded.record, ids_record.problem]).toEqual(['used', null]);
    const taken = await recordAt(origin);
    for (const image of ['a:1', 'a:2']) {
      await changeImage(first, image);
      await expect
        .poll(async () => (await statusOf(first)).ids_record.problem?.message)
        .toMatch(/another manager/);
    }
    await first.stop();
    const tree = (tip: string): Promise<string> => origin.bare.git('rev-parse', `${tip}^{tree}`);
    expect(await tree(RECORD)).toBe(await tree(taken));
    await changeImage(second, 'b:1');
    await second.stop();
    expect(await recordAt(origin)).not.toBe(taken);
  });
});

describe('the ref of the record at origin', () => {
  it.each([
    ['a blob', async ({ bare }: TestOrigin) => bare.git('hash-object', '-w', 'HEAD')],
    ['a tree', async ({ bare }: TestOrigin) => bare.git('rev-parse', 'main^{tree}')],
    ['a commit of the branch', async ({ bare }: TestOrigin) => bare.git('rev-parse', 'main')],
  ])(
    'that points to %s gets a new record instead, and the status reports the replacement',
    async (_name, make) => {
      const { origin, first } = await servedOrigin();
      await expect.poll(() => recordAt(origin)).not.toBe('');
      const other = await make(origin);
      await origin.bare.git('update-ref', RECORD, other);
      const id = await changeImage(first, 'web:3');
      await expect.poll(() => origin.bare.git('cat-file', '-t', RECORD)).toBe('commit');
      await expect.poll(() => recordAt(origin)).not.toBe(other);
      await expect
        .poll(async () => (await statusOf(first)).ids_record)
        .toMatchObject({ problem: null, replaced: expect.anything() });
      await first.stop();
      await rm(first.dataFolder, { recursive: true });
      const next = await startFollower(origin, { dataFolder: first.dataFolder });
      expect(await webId(next)).toBe(id);
    },
  );
});
