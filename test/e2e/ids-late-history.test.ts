import { mkdir } from 'node:fs/promises';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { idsOf, seededOf, startFleetWithHistory } from '../support/fleet-with-history.ts';
import { temporaryFolder } from '../support/folder.ts';
import { initRepository, repositoryAt, type TestRepository, testRepository } from '../support/git.ts';
import { SMALL_FLEET, startManager, type TestManager } from '../support/manager.ts';
import { testOrigin } from '../support/origin.ts';
import { RECORD } from '../support/record-files.ts';

/** A clock that is ahead of every id that was served before. */
const now = (): number => Date.now() + 3_600_000;

/** A repository whose fleet an earlier manager served, and the highest id that it gave. */
async function servedBefore(): Promise<[TestRepository, number]> {
  const [manager] = await startFleetWithHistory();
  await manager.post('/api/v2/apps/gone', { container_image: 'a' });
  await manager.delete('/api/v2/apps/gone');
  const highest = Math.max(...Object.values(await idsOf(manager)));
  await manager.stop();
  return [manager.repository, highest];
}

/** A clone, which has no record of ids. */
async function cloned(repository: TestRepository): Promise<TestRepository> {
  const folder = await temporaryFolder();
  await repository.git('clone', '--quiet', repository.folder, folder);
  return repositoryAt(folder);
}

/** Makes a branch that has no commit in common with the others. */
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

/** Starts a manager with wrong settings, stops it, and starts one with the right settings on the same data. */
async function correctSettings(
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

/**
 * Every id is above `highest`, also that of a deleted name that is created again; a name that never existed begins at
 * 1.
 */
async function expectIdsAbove(manager: TestManager, highest: number): Promise<void> {
  const ids = await idsOf(manager);
  expect(Object.keys(ids).sort()).toEqual(['app cron', 'app web', 'group edge', 'prune edge']);
  for (const [name, id] of Object.entries(ids)) expect([name, id > highest]).toEqual([name, true]);
  const again = await manager.post('/api/v2/apps/gone', { container_image: 'b' });
  expect(again.body.app_id).toBeGreaterThan(highest);
  expect((await manager.post('/api/v2/apps/never', { container_image: 'a' })).body.app_id).toBe(1);
}

describe('a history that the store did not follow', () => {
  it('gets higher ids than before if the first start had a mistyped folder in a checkout', async () => {
    const [served, highest] = await servedBefore();
    const clone = await cloned(served);
    const folder = { DESIRED_STATE: join(clone.folder, 'desired-sate') };
    await mkdir(folder.DESIRED_STATE);
    const next = await correctSettings(clone, folder, {});
    expect(await seededOf(next)).toMatchObject({ cause: 'other-history' });
    await expectIdsAbove(next, highest);
  });

  it('gets higher ids than before if the first start had a mistyped branch at origin', async () => {
    const [served, highest] = await servedBefore();
    const clone = await cloned(served);
    const remote = { GIT_REMOTE: served.folder, DESIRED_STATE: 'desired-state' };
    await served.git('config', 'receive.denyCurrentBranch', 'updateInstead');
    await served.git('update-ref', '-d', RECORD);
    const next = await correctSettings(
      clone,
      { ...remote, GIT_BRANCH: 'mian' },
      { ...remote, GIT_BRANCH: 'main' },
      () => served.git('update-ref', '-d', RECORD),
    );
    await expectIdsAbove(next, highest);
  });

  it('gets higher ids than before if an app of it was created on a mistyped branch', async () => {
    const [served, highest] = await servedBefore();
    const clone = await cloned(served);
    await served.git('update-ref', '-d', RECORD);
    const remote = { GIT_REMOTE: served.folder, DESIRED_STATE: 'desired-state' };
    await makeOrphan(served, 'mian');
    const wrong = { ...remote, GIT_BRANCH: 'mian' };
    const next = await correctSettings(clone, wrong, { ...remote, GIT_BRANCH: 'main' }, async (manager) => {
      const { body } = await manager.post('/api/v2/apps/web', {
        container_image: 'nginx:1.26',
        starting_ports: [80],
      });
      expect(body.app_id).toBe(1);
    });
    const ids = await idsOf(next);
    for (const [name, id] of Object.entries(ids)) expect([name, id > highest]).toEqual([name, true]);
  });

  it('gets higher ids than before if the first start had a mistyped folder at origin', async () => {
    const [served, highest] = await servedBefore();
    const clone = await cloned(served);
    await served.git('config', 'receive.denyCurrentBranch', 'updateInstead');
    await served.git('update-ref', '-d', RECORD);
    const remote = { GIT_REMOTE: served.folder };
    const next = await correctSettings(
      clone,
      { ...remote, DESIRED_STATE: 'x' },
      { ...remote, DESIRED_STATE: 'desired-state' },
      () => served.git('update-ref', '-d', RECORD),
    );
    await expectIdsAbove(next, highest);
  });

  it.each([
    ['while the manager runs', true],
    ['while the manager is stopped', false],
  ])('gets higher ids than before if it is pushed to an empty origin %s', async (_when, isRunning) => {
    const [served, highest] = await servedBefore();
    const url = await emptyOrigin();
    const settings = { GIT_REMOTE: url, DESIRED_STATE: 'desired-state' };
    const first = await startManager({ repository: served, settings, now });
    const push = (): Promise<string> => served.git('push', '--quiet', url, 'HEAD:refs/heads/main');
    if (isRunning) {
      await push();
      await first.reconcile();
      return expectIdsAbove(first, highest);
    }
    await first.stop();
    await push();
    const next = await startManager({ repository: served, dataFolder: first.dataFolder, settings, now });
    await expectIdsAbove(next, highest);
  });

  it('gets higher ids than before if the data folder is that of another fleet', async () => {
    const [served, highest] = await servedBefore();
    const own = await startManager({ files: { 'apps/web.yaml': 'container_image: own\n' } });
    await own.stop();
    const clone = await cloned(served);
    const next = await startManager({ repository: clone, dataFolder: own.dataFolder, now });
    await expectIdsAbove(next, highest);
  });

  it('gets higher ids than before if the first start had an older copy of the repository', async () => {
    const [served, highest] = await servedBefore();
    const old = await cloned(served);
    await served.commit({ 'desired-state/apps/late.yaml': 'container_image: late\n' });
    await old.git('update-ref', '-d', RECORD);
    const first = await startManager({ repository: old, now });
    await first.stop();
    const right = await cloned(served);
    const next = await startManager({ repository: right, dataFolder: first.dataFolder, now });
    expect((await idsOf(next))['app late']).toBeGreaterThan(highest);
  });

  it('keeps the ids of unchanged objects after the folder was renamed; the next change jumps to the floor', async () => {
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

  it('raises no id if only commits were rewritten: each change still raises its id by one', async () => {
    const [manager] = await startFleetWithHistory();
    await manager.post('/api/v2/apps/new', { container_image: 'a' });
    await manager.repository.git('commit', '--amend', '--quiet', '-m', 'reworded');
    await manager.reconcile();
    await manager.repository.git('reset', '--quiet', '--hard', 'HEAD~1');
    await manager.repository.commit({ 'desired-state/apps/new.yaml': 'container_image: b\n' });
    await manager.reconcile();
    expect((await idsOf(manager))['app new']).toBe(2);
    expect((await manager.post('/api/v2/apps/new/restart')).body.app_id).toBe(3);
  });
});

describe('a fleet that begins together with its manager', () => {
  it('gets ids from 1 on for commits in an empty checkout', async () => {
    const repository = await testRepository();
    await mkdir(join(repository.folder, 'desired-state'));
    const manager = await startManager({ repository });
    for (const [path, text] of Object.entries(SMALL_FLEET)) {
      await repository.commit({ [`desired-state/${path}`]: text });
      await manager.reconcile();
    }
    expect(new Set(Object.values(await idsOf(manager)))).toEqual(new Set([1]));
  });

  it('gets ids from 1 on for pushes to an empty origin, with a restart after each', async () => {
    const { url, user, push } = await testOrigin();
    const settings = { GIT_REMOTE: url, DESIRED_STATE: 'desired-state' };
    let manager = await startManager({ repository: user, settings });
    for (const [path, text] of Object.entries(SMALL_FLEET)) {
      await push({ [`desired-state/${path}`]: text });
      await manager.reconcile();
      manager = await manager.restart();
    }
    expect(new Set(Object.values(await idsOf(manager)))).toEqual(new Set([1]));
  });

  it.each([
    ['with an empty origin', true],
    ['with an empty checkout', false],
  ])('gets ids from 1 on for concurrent requests to create apps %s', async (_where, isRemote) => {
    const { url, user } = await testOrigin();
    await mkdir(join(user.folder, 'desired-state'));
    const settings: Record<string, string> = isRemote
      ? { GIT_REMOTE: url, DESIRED_STATE: 'desired-state' }
      : {};
    const manager = await startManager({ repository: user, settings });
    const names = Array.from({ length: 5 }, (_, index) => `app-${index}`);
    await Promise.all(names.map((name) => manager.post(`/api/v2/apps/${name}`, { container_image: 'a' })));
    const { body } = await manager.post('/api/v2/device_groups/edge', { apps: names });
    expect(body).toMatchObject({ device_group_id: 1, prune_id: 1 });
    expect(new Set(Object.values(await idsOf(manager)))).toEqual(new Set([1]));
  });
});
