import { describe, expect, it } from 'vitest';
import {
  A,
  B,
  CRON_FILE,
  expectFollows,
  idsOf,
  push,
  recorded,
  startFleetWithHistory,
  WEB_FILE,
} from '../support/fleet-with-history.ts';
import { loseStore, setRecord } from '../support/lost-store.ts';
import type { TestManager } from '../support/manager.ts';

/** A commit with the files of one commit, that says it is made of several. */
function mergeLike({ repository }: TestManager, files: string, ...parents: string[]): Promise<string> {
  const options = parents.flatMap((parent) => ['-p', parent]);
  return repository.git('commit-tree', `${files}^{tree}`, '-m', 'merge', ...options);
}

async function forward(manager: TestManager, revision: string): Promise<void> {
  await manager.repository.git('merge', '--quiet', '--ff-only', revision);
  await manager.reconcile();
}

/** The record is as it was, and nobody remembers where the branch has been: a fresh clone has no more than that. */
function loseAllBut(manager: TestManager, record: string): Promise<TestManager> {
  return loseStore(manager, async () => {
    await setRecord(manager, record);
    await manager.repository.git('reflog', 'expire', '--expire=now', '--all');
  });
}

/** A fleet whose web was B and is A; the record says so. */
async function thereAndBack() {
  const [manager, worker] = await startFleetWithHistory();
  await push(manager, { [WEB_FILE]: B });
  const old = await manager.repository.git('rev-parse', 'HEAD');
  await push(manager, { [WEB_FILE]: A });
  const now = await manager.repository.git('rev-parse', 'HEAD');
  await worker.poll(manager);
  return { manager, worker, old, now, record: await recorded(manager) };
}

describe('a store that is lost after merges, with a record from before them', () => {
  it('that took the files of one side alone, and back: the id lies above what was served between', async () => {
    const { manager, worker, old, now, record } = await thereAndBack();
    await forward(manager, await mergeLike(manager, old, old, now));
    expect((await worker.poll(manager)).apps[0]).toMatchObject({ container_image: 'nginx:b' });
    const between = await idsOf(manager);
    const beside = await mergeLike(manager, now, now);
    await forward(manager, await mergeLike(manager, now, beside, 'HEAD'));
    const next = await loseAllBut(manager, record);
    expect((await idsOf(next))['app web']).toBeGreaterThan(between['app web'] as number);
    expect((await idsOf(next))['app cron']).toBe(between['app cron']);
    await expectFollows(worker, next);
  });

  it('of a branch that is older than the record: nothing restarts that it did not change', async () => {
    const { manager, worker, old, now, record } = await thereAndBack();
    const { git } = manager.repository;
    await git('branch', 'feature', old);
    await forward(manager, await mergeLike(manager, now, now, 'feature'));
    const before = await idsOf(manager);
    const next = await loseAllBut(manager, record);
    expect(await idsOf(next)).toEqual(before);
    worker.actions = [];
    await worker.poll(next);
    expect(worker.actions).toEqual([]);
    await expectFollows(worker, next);
  });

  it('of many sides, reverts and picks: ids only rise, and the device follows', async () => {
    const { manager, worker, old, now, record } = await thereAndBack();
    const { git, commit } = manager.repository;
    const sides = [await mergeLike(manager, now, now), await mergeLike(manager, old, old, now)];
    await forward(manager, await mergeLike(manager, old, now, ...sides));
    await worker.poll(manager);
    const between = await idsOf(manager);
    await git('revert', '--no-edit', '-m', '1', 'HEAD');
    await commit({ [CRON_FILE]: 'container_image: busybox:2\n' });
    await git('cherry-pick', '--allow-empty', '--keep-redundant-commits', 'HEAD');
    await manager.reconcile();
    const next = await loseAllBut(manager, record);
    const ids = await idsOf(next);
    expect(ids['app web']).toBeGreaterThan(between['app web'] as number);
    expect(ids['app cron']).toBeGreaterThan(between['app cron'] as number);
    await expectFollows(worker, next);
  });
});
