import { describe, expect, it } from 'vitest';
import {
  CRON_FILE,
  commitAndApply,
  expectFollows,
  idsOf,
  seededOf,
  startFleetWithHistory,
  WEB,
  WEB_A,
  WEB_B,
  WEB_FILE,
  waitForRecord,
} from '../support/fleet-with-history.ts';
import { temporaryFolder } from '../support/folder.ts';
import { repositoryAt, testRepository } from '../support/git.ts';
import { loseStore, recordTip, setRecord } from '../support/lost-store.ts';
import { startManager } from '../support/manager.ts';
import { RECORD } from '../support/record-files.ts';
import { Worker } from '../support/worker.ts';

describe('a store that is lost after the history was rewritten', () => {
  it('keeps no recorded id if the head does not descend from the recorded revision', async () => {
    const [manager, worker] = await startFleetWithHistory();
    const next = await loseStore(manager, async () => {
      const { git, commit } = manager.repository;
      await git('checkout', '--quiet', '--orphan', 'other');
      await commit({ 'elsewhere.txt': 'x' }, 'a new history');
      await git('branch', '--quiet', '-M', 'main');
    });
    const { floor, kept } = await seededOf(next);
    expect(kept).toBe(0);
    expect(new Set(Object.values(await idsOf(next)))).toEqual(new Set([floor]));
    await expectFollows(worker, next);
  });

  it('keeps every recorded id if the rewritten head was recorded before the loss', async () => {
    const [manager, worker] = await startFleetWithHistory();
    await manager.repository.git('commit', '--quiet', '--amend', '-m', 'reworded');
    await manager.reconcile();
    const before = await idsOf(manager);
    const next = await loseStore(manager);
    expect(await idsOf(next)).toEqual(before);
    await expectFollows(worker, next);
  });
});

describe('a store of a shallow clone that is lost', () => {
  it('keeps the recorded ids at the recorded revision; all other names start at the floor', async () => {
    const origin = await testRepository();
    await origin.commit({ [WEB_FILE]: WEB_A, [CRON_FILE]: 'container_image: busybox\n' });
    await origin.commit({ 'desired-state/device-groups/edge.yaml': 'apps: [web, cron]\n' });
    const folder = await temporaryFolder();
    await origin.git('clone', '--quiet', '--depth', '1', `file://${origin.folder}`, folder);
    const manager = await startManager({ repository: repositoryAt(folder) });
    const worker = new Worker();
    await manager.post(`${WEB}/restart`);
    await worker.poll(manager);
    const before = await idsOf(manager);
    const next = await loseStore(manager);
    expect(await idsOf(next)).toEqual(before);
    const { floor, history_is_complete } = await seededOf(next);
    expect(history_is_complete).toBe(false);
    const { body } = await next.post('/api/v2/apps/unheard-of', { container_image: 'a' });
    expect(body.app_id).toBe(floor);
    await expectFollows(worker, next);
  });

  it('keeps no recorded id if commits came after the recorded revision', async () => {
    const origin = await testRepository();
    await origin.commit({ 'a.txt': '' });
    await origin.commit({ [WEB_FILE]: WEB_A, 'desired-state/device-groups/edge.yaml': 'apps: [web]\n' });
    const folder = await temporaryFolder();
    await origin.git('clone', '--quiet', '--depth', '1', `file://${origin.folder}`, folder);
    const manager = await startManager({ repository: repositoryAt(folder) });
    const worker = new Worker();
    await worker.poll(manager);
    const next = await loseStore(manager, () => manager.repository.commit({ 'elsewhere.txt': 'x' }));
    expect(await seededOf(next)).toMatchObject({ record: 'used', kept: 0 });
    await expectFollows(worker, next);
  });
});

describe('the record of ids in the repository', () => {
  it('is written again with the next change after a user deleted it', async () => {
    const [manager] = await startFleetWithHistory();
    await waitForRecord(manager);
    await setRecord(manager, '');
    await manager.post(`${WEB}/restart`);
    await expect.poll(() => recordTip(manager), { timeout: 60_000 }).not.toBe('');
    const before = await idsOf(manager);
    expect(await idsOf(await loseStore(manager))).toEqual(before);
    expect(manager.log.filter(({ msg }) => msg === 'ids are not recorded')).toEqual([]);
  });

  it('is a chain of commits of the manager', async () => {
    const [manager] = await startFleetWithHistory();
    const before = await waitForRecord(manager);
    await commitAndApply(manager, { [WEB_FILE]: WEB_B });
    await waitForRecord(manager);
    expect(await manager.repository.git('rev-parse', `${RECORD}~1`)).toBe(before);
    expect(await manager.repository.git('log', '-1', '--format=%cn', RECORD)).toBe('Holdfast');
  });
});
