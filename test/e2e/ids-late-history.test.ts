import { mkdir } from 'node:fs/promises';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { idsOf, seededOf, startFleetWithHistory } from '../support/fleet-with-history.ts';
import { temporaryFolder } from '../support/folder.ts';
import { initRepository, repositoryAt, type TestRepository, testRepository } from '../support/git.ts';
import { SMALL_FLEET, startManager, type TestManager } from '../support/manager.ts';
import { testOrigin } from '../support/origin.ts';

/** A clock that stands above every id that was served before. */
const now = (): number => Date.now() + 3_600_000;

/** A repository with the history of a fleet that was served, and the highest id of its devices. */
async function servedBefore(): Promise<[TestRepository, number]> {
  const [manager] = await startFleetWithHistory();
  await manager.post('/api/v2/apps/gone', { container_image: 'a' });
  await manager.delete('/api/v2/apps/gone');
  const highest = Math.max(...Object.values(await idsOf(manager)));
  await manager.stop();
  return [manager.repository, highest];
}

/** A plain clone has no record of ids. */
async function cloned(repository: TestRepository): Promise<TestRepository> {
  const folder = await temporaryFolder();
  await repository.git('clone', '--quiet', repository.folder, folder);
  return repositoryAt(folder);
}

/** A branch that has nothing in common with the others. */
async function makeOrphan(repository: TestRepository, branch: string): Promise<void> {
  const other = await testRepository();
  await other.commit({ 'desired-state/apps/other.yaml': 'container_image: a\n' });
  await other.git('push', '--quiet', repository.folder, `main:refs/heads/${branch}`);
}

async function emptyOrigin(): Promise<string> {
  const url = join(await temporaryFolder(), 'empty.git');
  await initRepository(url, true);
  return url;
}

/** Starts, stops, and starts again with other settings on the same data. */
async function corrected(
  repository: TestRepository,
  wrong: Record<string, string>,
  right: Record<string, string>,
  between: (manager: TestManager) => Promise<unknown> = async () => undefined,
): Promise<TestManager> {
  const first = await startManager({ repository, settings: wrong, now });
  await between(first);
  await first.stop();
  return startManager({ repository, dataFolder: first.dataFolder, settings: right, now });
}

/** No id is one that devices can know, not even of a name that is gone, and a name that never was begins at 1. */
async function expectAbove(manager: TestManager, highest: number): Promise<void> {
  const ids = await idsOf(manager);
  expect(Object.keys(ids).sort()).toEqual(['app cron', 'app web', 'group edge', 'prune edge']);
  for (const [name, id] of Object.entries(ids)) expect([name, id > highest]).toEqual([name, true]);
  const again = await manager.post('/api/v2/apps/gone', { container_image: 'b' });
  expect(again.body.app_id).toBeGreaterThan(highest);
  expect((await manager.post('/api/v2/apps/never', { container_image: 'a' })).body.app_id).toBe(1);
}

describe('history that a store did not follow', () => {
  it('of another folder than at the first start: its names begin at the floor', async () => {
    const [served, highest] = await servedBefore();
    const clone = await cloned(served);
    const folder = { DESIRED_STATE: join(clone.folder, 'desired-sate') };
    await mkdir(folder.DESIRED_STATE);
    const next = await corrected(clone, folder, {});
    expect(await seededOf(next)).toMatchObject({ cause: 'other-history' });
    await expectAbove(next, highest);
  });

  it('of another branch at origin than at the first start', async () => {
    const [served, highest] = await servedBefore();
    const clone = await cloned(served);
    const remote = { GIT_REMOTE: served.folder, DESIRED_STATE: 'desired-state' };
    await served.git('config', 'receive.denyCurrentBranch', 'updateInstead');
    await served.git('update-ref', '-d', 'refs/holdfast/ids');
    const next = await corrected(
      clone,
      { ...remote, GIT_BRANCH: 'mian' },
      { ...remote, GIT_BRANCH: 'main' },
      () => served.git('update-ref', '-d', 'refs/holdfast/ids'),
    );
    await expectAbove(next, highest);
  });

  it('of another branch at origin, after names of it were given at the first one', async () => {
    const [served, highest] = await servedBefore();
    const clone = await cloned(served);
    await served.git('update-ref', '-d', 'refs/holdfast/ids');
    const remote = { GIT_REMOTE: served.folder, DESIRED_STATE: 'desired-state' };
    await makeOrphan(served, 'mian');
    const wrong = { ...remote, GIT_BRANCH: 'mian' };
    const next = await corrected(clone, wrong, { ...remote, GIT_BRANCH: 'main' }, async (manager) => {
      const { body } = await manager.post('/api/v2/apps/web', {
        container_image: 'nginx:1.26',
        starting_ports: [80],
      });
      expect(body.app_id).toBe(1);
    });
    const ids = await idsOf(next);
    for (const [name, id] of Object.entries(ids)) expect([name, id > highest]).toEqual([name, true]);
  });

  it('of another folder at origin', async () => {
    const [served, highest] = await servedBefore();
    const clone = await cloned(served);
    await served.git('config', 'receive.denyCurrentBranch', 'updateInstead');
    await served.git('update-ref', '-d', 'refs/holdfast/ids');
    const remote = { GIT_REMOTE: served.folder };
    const next = await corrected(
      clone,
      { ...remote, DESIRED_STATE: 'x' },
      { ...remote, DESIRED_STATE: 'desired-state' },
      () => served.git('update-ref', '-d', 'refs/holdfast/ids'),
    );
    await expectAbove(next, highest);
  });

  it.each([
    { name: 'while the manager runs', isRunning: true },
    { name: 'while it stands still', isRunning: false },
  ])('that is pushed to an empty origin $name', async ({ isRunning }) => {
    const [served, highest] = await servedBefore();
    const url = await emptyOrigin();
    const settings = { GIT_REMOTE: url, DESIRED_STATE: 'desired-state' };
    const first = await startManager({ repository: served, settings, now });
    const push = (): Promise<string> => served.git('push', '--quiet', url, 'HEAD:refs/heads/main');
    if (isRunning) {
      await push();
      await first.reconcile();
      return expectAbove(first, highest);
    }
    await first.stop();
    await push();
    const next = await startManager({ repository: served, dataFolder: first.dataFolder, settings, now });
    await expectAbove(next, highest);
  });

  it('of another fleet, under data of this one: new names and next changes are above the floor', async () => {
    const [served, highest] = await servedBefore();
    const own = await startManager({ files: { 'apps/web.yaml': 'container_image: own\n' } });
    await own.stop();
    const clone = await cloned(served);
    const next = await startManager({ repository: clone, dataFolder: own.dataFolder, now });
    await expectAbove(next, highest);
  });

  it('of an older copy of the repository, before the right one', async () => {
    const [served, highest] = await servedBefore();
    const old = await cloned(served);
    await served.commit({ 'desired-state/apps/late.yaml': 'container_image: late\n' });
    await old.git('update-ref', '-d', 'refs/holdfast/ids');
    const first = await startManager({ repository: old, now });
    await first.stop();
    const right = await cloned(served);
    const next = await startManager({ repository: right, dataFolder: first.dataFolder, now });
    expect((await idsOf(next))['app late']).toBeGreaterThan(highest);
  });

  it('keeps the ids of all that does not change', async () => {
    const [manager] = await startFleetWithHistory();
    await manager.post('/api/v2/apps/new', { container_image: 'a' });
    const before = await idsOf(manager);
    expect(before['app new']).toBe(1);
    const { git, folder } = manager.repository;
    await git('mv', 'desired-state', 'fleet');
    await git('commit', '--quiet', '-m', 'another folder');
    await manager.stop();
    const settings = { DESIRED_STATE: join(folder, 'fleet') };
    const { repository, dataFolder } = manager;
    const next = await startManager({ repository, dataFolder, settings, now });
    expect(await idsOf(next)).toEqual(before);
    const { body } = await next.post('/api/v2/apps/new/restart');
    expect(body.app_id).toBe((await seededOf(next)).floor);
  });

  it('that was only made again lifts nothing that was there: a restart is still one more', async () => {
    const [manager] = await startFleetWithHistory();
    await manager.post('/api/v2/apps/new', { container_image: 'a' });
    await manager.repository.git('commit', '--amend', '--quiet', '-m', 'said better');
    await manager.reconcile();
    await manager.repository.git('reset', '--quiet', '--hard', 'HEAD~1');
    await manager.repository.commit({ 'desired-state/apps/new.yaml': 'container_image: b\n' });
    await manager.reconcile();
    expect((await idsOf(manager))['app new']).toBe(2);
    expect((await manager.post('/api/v2/apps/new/restart')).body.app_id).toBe(3);
  });
});

describe('a fleet that begins with its manager starts at 1', () => {
  it('in an empty checkout, commit by commit', async () => {
    const repository = await testRepository();
    await mkdir(join(repository.folder, 'desired-state'));
    const manager = await startManager({ repository });
    for (const [path, text] of Object.entries(SMALL_FLEET)) {
      await repository.commit({ [`desired-state/${path}`]: text });
      await manager.reconcile();
    }
    expect(new Set(Object.values(await idsOf(manager)))).toEqual(new Set([1]));
  });

  it('at an empty origin, push by push, also after another start', async () => {
    const { url, person, push } = await testOrigin();
    const settings = { GIT_REMOTE: url, DESIRED_STATE: 'desired-state' };
    let manager = await startManager({ repository: person, settings });
    for (const [path, text] of Object.entries(SMALL_FLEET)) {
      await push({ [`desired-state/${path}`]: text });
      await manager.reconcile();
      manager = await manager.restart();
    }
    expect(new Set(Object.values(await idsOf(manager)))).toEqual(new Set([1]));
  });

  it.each([
    { name: 'at an empty origin', isRemote: true },
    { name: 'in an empty checkout', isRemote: false },
  ])('$name, by calls of the API that arrive together', async ({ isRemote }) => {
    const { url, person } = await testOrigin();
    await mkdir(join(person.folder, 'desired-state'));
    const settings: Record<string, string> = isRemote
      ? { GIT_REMOTE: url, DESIRED_STATE: 'desired-state' }
      : {};
    const manager = await startManager({ repository: person, settings });
    const names = Array.from({ length: 5 }, (_, index) => `app-${index}`);
    await Promise.all(names.map((name) => manager.post(`/api/v2/apps/${name}`, { container_image: 'a' })));
    const { body } = await manager.post('/api/v2/device_groups/edge', { apps: names });
    expect(body).toMatchObject({ device_group_id: 1, prune_id: 1 });
    expect(new Set(Object.values(await idsOf(manager)))).toEqual(new Set([1]));
  });
});
