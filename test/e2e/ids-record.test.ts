import { mkdir, rmdir, writeFile } from 'node:fs/promises';
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
import { loseStore, recordTip } from '../support/lost-store.ts';
import { RECORD, recordFiles } from '../support/record-files.ts';

describe('a record of ids that cannot be written', () => {
  it('is logged once, is in the status, fails no pass, and is written once that is possible', async () => {
    const [manager, worker] = await startRecordedFleet();
    const lock = join(manager.repository.folder, '.git', `${RECORD}.lock`);
    // A lock that is a file would be removed after two seconds, as that of a dead process.
    await mkdir(lock);
    await manager.post(`${WEB}/restart`);
    await expect.poll(async () => (await statusOf(manager)).ids_record.problem).not.toBeNull();
    const { since } = (await statusOf(manager)).ids_record.problem;
    await expectFollows(worker, manager);
    expect((await statusOf(manager)).state).toBe('applied');
    expect((await manager.reconcile()).body.error).toBeNull();
    expect((await statusOf(manager)).ids_record.problem.since).toBe(since);
    await rmdir(lock);
    await expect.poll(async () => (await statusOf(manager)).ids_record.problem).toBeNull();
    expect(logged(manager, 'ids are not recorded')).toHaveLength(1);
    expect(logged(manager, 'ids are recorded again')).toHaveLength(1);
    const before = await webId(manager);
    expect(await webId(await loseStore(manager))).toBe(before);
  });

  it('is still read after a lost store, whose ids it keeps', async () => {
    const [manager, worker] = await startRecordedFleet();
    const before = await webId(manager);
    const lock = join(manager.repository.folder, '.git', `${RECORD}.lock`);
    const next = await loseStore(manager, () => mkdir(lock));
    expect(await webId(next)).toBe(before);
    await expect.poll(async () => (await statusOf(next)).ids_record.problem).not.toBeNull();
    await rmdir(lock);
    await next.post(`${WEB}/restart`);
    await expect.poll(async () => (await statusOf(next)).ids_record.problem).toBeNull();
    await expectFollows(worker, next);
    const last = await webId(next);
    expect(await webId(await loseStore(next))).toBe(last);
  });
});

describe('a symbolic ref in place of the record of ids', () => {
  it('is replaced, and the branch that it names does not move', async () => {
    const [manager] = await startRecordedFleet();
    const { git } = manager.repository;
    const head = await git('rev-parse', 'main');
    await git('symbolic-ref', RECORD, 'refs/heads/main');
    await manager.post(`${WEB}/restart`);
    await manager.stop();
    expect(await git('rev-parse', 'main')).toBe(head);
    expect(await git('rev-parse', RECORD)).not.toBe(head);
  });
});

describe('the record of ids', () => {
  it('has every counter, also of deleted names, and names its folder and revision', async () => {
    const [manager] = await startRecordedFleet();
    await manager.post('/api/v2/apps/gone', { container_image: 'a' });
    await manager.delete('/api/v2/apps/gone');
    const { revision_applied } = await statusOf(manager);
    await manager.stop();
    const { 'meta.json': meta, ...shards } = await recordFiles(manager.repository);
    expect(JSON.parse(meta ?? '')).toMatchObject({
      format: 1,
      folder: 'desired-state',
      revision: revision_applied,
      rows: 5,
    });
    const rows = Object.values(shards).flatMap((text) => JSON.parse(text));
    expect(rows.map(([kind, name]) => `${kind} ${name}`).sort()).toEqual([
      'app cron',
      'app gone',
      'app web',
      'device_group edge',
      'prune edge',
    ]);
    expect(rows.find(([, name]) => name === 'gone')).toEqual(['app', 'gone', 1, null]);
  });

  it('changes in meta.json and one file of rows when one id rises', async () => {
    const [manager] = await startRecordedFleet();
    const before = await recordTip(manager);
    await manager.post(`${WEB}/restart`);
    await manager.stop();
    const changed = await manager.repository.git('diff', '--name-only', before, RECORD);
    expect(changed.split('\n')).toHaveLength(2);
    expect(changed).toContain('meta.json');
  });

  it('is written even while ids keep rising', async () => {
    const [manager] = await startRecordedFleet();
    const before = await recordTip(manager);
    await expect
      .poll(
        async () => {
          await manager.post(`${WEB}/restart`);
          return recordTip(manager);
        },
        { timeout: 60_000, interval: 200 },
      )
      .not.toBe(before);
  });

  it('is not written if no id rose', async () => {
    const [manager] = await startRecordedFleet();
    const before = await recordTip(manager);
    await manager.repository.commit({ 'elsewhere.txt': 'x' });
    await manager.reconcile();
    await (await manager.restart()).stop();
    expect(await recordTip(manager)).toBe(before);
  });

  it('leaves the checkout as it is', async () => {
    const [manager] = await startRecordedFleet();
    await mkdir(join(manager.repository.folder, 'untracked'));
    await writeFile(join(manager.repository.folder, 'untracked/file'), 'x');
    await manager.post(`${WEB}/restart`);
    await manager.stop();
    expect(await manager.repository.git('status', '--porcelain')).toBe('?? untracked/');
    await manager.repository.git('fsck', '--strict');
  });
});
