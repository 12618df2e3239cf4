import { describe, expect, it } from 'vitest';
import {
  CRON_FILE,
  commitAndApply,
  expectFollows,
  idsOf,
  startFleetWithHistory,
  WEB_A,
  WEB_B,
  WEB_FILE,
  waitForRecord,
} from '../support/fleet-with-history.ts';
import { loseStore, setRecord } from '../support/lost-store.ts';
import type { TestManager } from '../support/manager.ts';

/** Makes a commit that has the files of `files` and these parents, as a merge that took one side alone. */
function mergeLike({ repository }: TestManager, files: string, ...parents: string[]): Promise<string> {
  const options = parents.flatMap((parent) => ['-p', parent]);
  return repository.git('commit-tree', `${files}^{tree}`, '-m', 'merge', ...options);
}

async function fastForward(manager: TestManager, revision: string): Promise<void> {
  await manager.repository.git('merge', '--quiet', '--ff-only', revision);
  await manager.reconcile();
}

/** Loses the store, and puts back this version of the record. */
function loseAllBut(manager: TestManager, record: string): Promise<TestManager> {
  return loseStore(manager, () => setRecord(manager, record));
}

/**
 * A fleet whose app `web` was WEB_B at the commit `old`, and is WEB_A again at the commit `now`. `record` is the record
 * of ids of that state.
 */
async function changeAndRevert() {
  const [manager, worker] = await startFleetWithHistory();
  await commitAndApply(manager, { [WEB_FILE]: WEB_B });
  const old = await manager.repository.git('rev-parse', 'HEAD');
  await commitAndApply(manager, { [WEB_FILE]: WEB_A });
  const now = await manager.repository.git('rev-parse', 'HEAD');
  await worker.poll(manager);
  return { manager, worker, old, now, record: await waitForRecord(manager) };
}

describe('a store that is lost after merges, with a record of ids from before them', () => {
  it('continues above the ids that were served while a merge had brought old content back', async () => {
    const { manager, worker, old, now, record } = await changeAndRevert();
    await fastForward(manager, await mergeLike(manager, old, old, now));
    expect((await worker.poll(manager)).apps[0]).toMatchObject({ container_image: 'nginx:b' });
    const between = await idsOf(manager);
    const beside = await mergeLike(manager, now, now);
    await fastForward(manager, await mergeLike(manager, now, beside, 'HEAD'));
    const next = await loseAllBut(manager, record);
    expect((await idsOf(next))['app web']).toBeGreaterThan(between['app web'] as number);
    expect((await idsOf(next))['app cron']).toBe(between['app cron']);
    await expectFollows(worker, next);
  });

  it('keeps every id after a merge of an older branch that changed nothing', async () => {
    const { manager, worker, old, now, record } = await changeAndRevert();
    const { git } = manager.repository;
    await git('branch', 'feature', old);
    await fastForward(manager, await mergeLike(manager, now, now, 'feature'));
    const before = await idsOf(manager);
    const next = await loseAllBut(manager, record);
    expect(await idsOf(next)).toEqual(before);
    worker.actions = [];
    await worker.poll(next);
    expect(worker.actions).toEqual([]);
    await expectFollows(worker, next);
  });

  it('raises the ids of what changed after an octopus merge, its revert and a cherry-pick, and the device follows', async () => {
    const { manager, worker, old, now, record } = await changeAndRevert();
    const { git, commit } = manager.repository;
    const sides = [await mergeLike(manager, now, now), await mergeLike(manager, old, old, now)];
    await fastForward(manager, await mergeLike(manager, old, now, ...sides));
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
