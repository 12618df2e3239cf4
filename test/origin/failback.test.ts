import { cp, rename, rm, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { statusOf, WEB, webId } from '../support/fleet-with-history.ts';
import { temporaryFolder } from '../support/folder.ts';
import { repositoryAt } from '../support/git.ts';
import { copyData, RECORD } from '../support/lost-store.ts';
import { SMALL_FLEET, type TestManager } from '../support/manager.ts';
import { startFollower, type TestOrigin, testOrigin } from '../support/origin.ts';
import { Worker } from '../support/worker.ts';

const recordAt = ({ bare }: TestOrigin): Promise<string> =>
  bare.git('for-each-ref', '--format=%(objectname)', RECORD);

/** Whether the record has all that is applied. */
async function isRecorded(manager: TestManager): Promise<boolean> {
  const { ids_record, revision_applied } = await statusOf(manager);
  return ids_record.revision === revision_applied;
}

const mirrorOf = ({ dataFolder }: TestManager) => repositoryAt(join(dataFolder, 'mirror.git'));

async function elsewhere(): Promise<string> {
  return join(await temporaryFolder(), 'data');
}

/** Serves a content; resolves to the id that it was served with. */
async function serveImage(manager: TestManager, image: string): Promise<number> {
  const { status, body } = await manager.put(`${WEB}/update`, { container_image: image });
  expect(status).toBe(202);
  return body.app_id;
}

/** An origin, and a manager that has served two contents. */
async function servedOrigin() {
  const origin = await testOrigin(SMALL_FLEET);
  const first = await startFollower(origin);
  const worker = new Worker();
  await worker.poll(first);
  const id = await serveImage(first, 'web:2');
  await worker.poll(first);
  return { origin, first, worker, id };
}

/** The device ends with what the manager wants, and a change after that reaches it too. */
async function expectFollows(worker: Worker, manager: TestManager): Promise<void> {
  expect(worker.agreesWith(await worker.poll(manager))).toBe(true);
  await serveImage(manager, 'web:next');
  worker.actions = [];
  expect(worker.agreesWith(await worker.poll(manager))).toBe(true);
  expect(worker.actions).toEqual(['restart web']);
}

/** Another manager, with a store of its own, serves the same devices for a while. */
async function failOver(origin: TestOrigin, worker: Worker, images: readonly string[]): Promise<number> {
  const second = await startFollower(origin, { dataFolder: await elsewhere() });
  for (const image of images) await serveImage(second, image);
  await second.post(`${WEB}/restart`);
  await worker.poll(second);
  const id = await webId(second);
  await second.stop();
  return id;
}

describe('a manager that comes back after another one has served its devices', () => {
  it('goes on above what that one gave', async () => {
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

  it('finds origin away first: it serves what it has, and gives nothing below once origin is back', async () => {
    const { origin, first, worker, id } = await servedOrigin();
    await first.stop();
    // No commit: the branch is where this one's mirror has it, and a push needs no fetch.
    const theirs = await failOver(origin, worker, []);
    expect(theirs).toBeGreaterThan(id);
    await rename(origin.url, `${origin.url}.away`);
    const again = await first.restart();
    expect(await webId(again)).toBe(id);
    expect((await again.get('/api/v2/device_groups/edge/info')).status).toBe(200);
    await rename(`${origin.url}.away`, origin.url);
    expect(await serveImage(again, 'web:3')).toBeGreaterThan(theirs);
    expect((await statusOf(again)).ids_seeded).toMatchObject({ cause: 'another-store' });
    await expectFollows(worker, again);
  });

  it('finds origin away, and other defaults in its settings: it applies them when origin is back', async () => {
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

  it('has given replies before it learned of higher ids: they are not given again', async () => {
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

  it('gave an id while origin was away: what it gives when origin is back lies above both', async () => {
    const { origin, first, worker } = await servedOrigin();
    await first.stop();
    const theirs = await failOver(origin, worker, ['web:3']);
    await rename(origin.url, `${origin.url}.away`);
    const again = await first.restart();
    expect((await again.post(`${WEB}/restart`)).status).toBe(202);
    await worker.poll(again);
    await rename(`${origin.url}.away`, origin.url);
    await again.reconcile();
    expect(await webId(again)).toBeGreaterThanOrEqual(theirs);
    await expectFollows(worker, again);
  });
});

describe('a data folder that was restored from an old copy, mirror and all', () => {
  it('is known by the record at origin; no id is given twice', async () => {
    const { origin, first, worker } = await servedOrigin();
    await first.stop();
    const copy = await copyData(first);
    const second = await first.restart();
    for (const image of ['web:3', 'web:4', 'web:5']) await serveImage(second, image);
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
});

describe('the mirror and origin have two versions of the record', () => {
  it("origin's is newer, and the store is lost: the ids of origin's are kept", async () => {
    const { first } = await servedOrigin();
    await expect
      .poll(async () => (await statusOf(first)).ids_record.revision)
      .toBe((await statusOf(first)).revision_applied);
    const old = await mirrorOf(first).git('rev-parse', RECORD);
    await first.post(`${WEB}/restart`);
    const id = await webId(first);
    await first.stop();
    // As after a kill between the push and the move of the mirror's own ref.
    await mirrorOf(first).git('update-ref', RECORD, old);
    await mirrorOf(first).git('update-ref', 'refs/holdfast/origin-ids', old);
    await rm(join(first.dataFolder, 'store.sqlite'));
    expect(await webId(await first.restart())).toBe(id);
  });
});

describe('an origin that takes the record no more', () => {
  const HOOK = '#!/bin/sh\ncase "$1" in refs/heads/*) exit 0 ;; esac\nexit 1\n';

  async function refusedOrigin() {
    const served = await servedOrigin();
    const { origin, first, worker } = served;
    await expect.poll(() => recordAt(origin)).not.toBe('');
    await writeFile(join(origin.url, 'hooks/update'), HOOK, { mode: 0o755 });
    await first.post(`${WEB}/restart`);
    await worker.poll(first);
    const id = await webId(first);
    await first.stop();
    return { ...served, id };
  }

  it("the mirror's goes on from the one that is there: a lost store finds its ids", async () => {
    const { first, worker, id } = await refusedOrigin();
    await rm(join(first.dataFolder, 'store.sqlite'));
    const next = await first.restart();
    expect(await webId(next)).toBe(id);
    await expectFollows(worker, next);
  });

  it('until it takes one again, of another manager: that one counts', async () => {
    const { origin, first, worker } = await refusedOrigin();
    await rm(join(origin.url, 'hooks/update'));
    const theirs = await failOver(origin, worker, ['web:3']);
    const again = await first.restart();
    expect((await statusOf(again)).ids_seeded).toMatchObject({ cause: 'another-store', record: 'used' });
    expect(await webId(again)).toBe(theirs);
    await expectFollows(worker, again);
  });
});

describe('two managers with a store each, at once', () => {
  it('the one whose record was taken over leaves it alone, and says so', async () => {
    const { origin, first } = await servedOrigin();
    // All of it: what the first one writes later would be a record of another manager to the second one.
    await expect.poll(() => isRecorded(first)).toBe(true);
    const second = await startFollower(origin, { dataFolder: await elsewhere() });
    const { ids_seeded, ids_record } = await statusOf(second);
    expect([ids_seeded.record, ids_record.problem]).toEqual(['used', null]);
    const taken = await recordAt(origin);
    for (const image of ['a:1', 'a:2']) {
      await serveImage(first, image);
      await expect
        .poll(async () => (await statusOf(first)).ids_record.problem?.message)
        .toMatch(/another manager/);
    }
    await first.stop();
    expect(await recordAt(origin)).toBe(taken);
    await serveImage(second, 'b:1');
    await second.stop();
    expect(await recordAt(origin)).not.toBe(taken);
  });
});

describe('what stands at origin is no record', () => {
  it.each([
    ['a blob', async ({ bare }: TestOrigin) => bare.git('hash-object', '-w', 'HEAD')],
    ['a tree', async ({ bare }: TestOrigin) => bare.git('rev-parse', 'main^{tree}')],
    ['a commit of somebody', async ({ bare }: TestOrigin) => bare.git('rev-parse', 'main')],
  ])('%s: it is written anew, and said', async (_, make) => {
    const { origin, first } = await servedOrigin();
    await expect.poll(() => recordAt(origin)).not.toBe('');
    const junk = await make(origin);
    await origin.bare.git('update-ref', RECORD, junk);
    const id = await serveImage(first, 'web:3');
    await expect.poll(() => origin.bare.git('cat-file', '-t', RECORD)).toBe('commit');
    await expect.poll(() => recordAt(origin)).not.toBe(junk);
    await expect
      .poll(async () => (await statusOf(first)).ids_record)
      .toMatchObject({ problem: null, replaced: expect.anything() });
    await first.stop();
    await rm(first.dataFolder, { recursive: true });
    const next = await startFollower(origin, { dataFolder: first.dataFolder });
    expect(await webId(next)).toBe(id);
  });
});
