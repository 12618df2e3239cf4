import { readFile, rm, symlink, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { expectIntact } from '../support/intact.ts';
import { SMALL_FLEET, type TestManager } from '../support/manager.ts';
import { startFollower, type TestOrigin, testOrigin } from '../support/origin.ts';
import { REMOTE_RECORD as RECORD } from '../support/record-files.ts';
import { refuseRecord } from './refuse-record.ts';

const INFO = '/api/v2/device_groups/edge/info';

const logged = (manager: TestManager, message: string): Record<string, unknown>[] =>
  manager.log.filter(({ msg }) => msg === message);

const problemOf = async (manager: TestManager): Promise<string> =>
  (await manager.get('/api/v2/reconcile')).body.ids_record.problem?.message ?? '';

const recordAt = (origin: TestOrigin): Promise<string> => origin.bare.git('for-each-ref', RECORD);

/** What devices act on: `/info` without `_id`, which is new in each store. */
async function infoOf(manager: TestManager): Promise<string> {
  return (await manager.get(INFO)).text.replaceAll(/"_id":\{[^}]*\}/g, '');
}

/** Stops the manager, deletes its data folder with the mirror, and starts another one an hour later. */
async function loseAll(manager: TestManager, origin: TestOrigin): Promise<TestManager> {
  await manager.stop();
  await rm(manager.dataFolder, { recursive: true });
  return startFollower(origin, { dataFolder: manager.dataFolder, now: () => Date.now() + 3_600_000 });
}

describe('the record of ids at origin', () => {
  it('outlives the loss of everything else: no id changes, and the next one lies above the floor', async () => {
    const origin = await testOrigin(SMALL_FLEET);
    const manager = await startFollower(origin);
    await manager.put('/api/v2/apps/web/update', { container_image: 'kept:1' });
    await manager.post('/api/v2/apps/cron/restart');
    const before = await infoOf(manager);
    const next = await loseAll(manager, origin);
    expect(await infoOf(next)).toBe(before);
    expect((await next.get('/api/v2/reconcile')).body.ids_seeded).toMatchObject({ record: 'used' });
    const { body } = await next.put('/api/v2/apps/web/update', { container_image: 'next:1' });
    expect(body.app_id).toBeGreaterThan(1_700_000_000);
  });

  it('is also used if the branch has been deleted: a new app gets a higher id', async () => {
    const origin = await testOrigin(SMALL_FLEET);
    const manager = await startFollower(origin, { now: () => Date.now() + 1_800_000 });
    const { body: before } = await manager.get('/api/v2/apps/web');
    await manager.stop();
    await origin.bare.git('update-ref', '-d', 'refs/heads/main');
    const next = await loseAll(manager, origin);
    const web = await next.post('/api/v2/apps/web', { container_image: 'other' });
    expect(web.body.app_id).toBeGreaterThan(before.app_id);
    expect((await next.get('/api/v2/reconcile')).body).toMatchObject({
      ids_seeded: { record: 'used' },
      ids_record: { problem: null },
    });
  });

  it('is written soon after ids change, while the manager runs', async () => {
    const origin = await testOrigin(SMALL_FLEET);
    const manager = await startFollower(origin);
    const before = await recordAt(origin);
    expect((await manager.post('/api/v2/apps/web/restart')).status).toBe(202);
    await expect.poll(() => recordAt(origin), { timeout: 60_000 }).not.toBe(before);
    await expectIntact(origin.url);
  });

  it('costs origin objects for what changed, not for the whole fleet', async () => {
    const apps = Array.from({ length: 300 }, (_, index) => [
      `apps/app-${index}.yaml`,
      'container_image: a\n',
    ]);
    const origin = await testOrigin(Object.fromEntries(apps));
    const objects = async (): Promise<number> => {
      const counts = await origin.bare.git('count-objects', '-v');
      const [loose = 0, packed = 0] = ['count', 'in-pack'].map((key) =>
        Number(new RegExp(`^${key}: (\\d+)`, 'm').exec(counts)?.[1]),
      );
      return loose + packed;
    };
    const manager = await startFollower(origin);
    const first = await recordAt(origin);
    const before = await objects();
    await manager.post('/api/v2/apps/app-7/restart');
    await expect.poll(() => recordAt(origin)).not.toBe(first);
    // The commit, its tree, `meta.json`, and one of more than a hundred files of ids.
    expect((await objects()) - before).toBe(4);
    await expectIntact(origin.url);
  });

  it.each([
    ['begins a new chain of versions after 500', false],
    ['goes on with its chain after 500 versions if origin refuses a new one', true],
  ])('%s', async (_, isRefused) => {
    const origin = await testOrigin(SMALL_FLEET);
    const first = await startFollower(origin);
    await first.stop();
    const { git } = origin.bare;
    const message = await git('log', '-1', '--format=%B', RECORD);
    const late = message.replace(/^Version: .*/m, 'Version: 499');
    const before = await git('commit-tree', `${RECORD}^{tree}`, '-p', RECORD, '-m', late);
    await git('update-ref', RECORD, before);
    const hook = '#!/bin/sh\ngit merge-base --is-ancestor "$2" "$3"\n';
    if (isRefused) await writeFile(join(origin.url, 'hooks/update'), hook, { mode: 0o755 });
    const manager = await first.restart();
    for (const path of ['web', 'cron']) {
      const last = await recordAt(origin);
      await manager.post(`/api/v2/apps/${path}/restart`);
      await expect.poll(() => recordAt(origin)).not.toBe(last);
    }
    const bases = (await git('log', '--format=%H', RECORD)).split('\n').slice(2);
    expect(bases.includes(before)).toBe(isRefused);
    expect(logged(manager, 'ids are not recorded')).toEqual([]);
    const served = await infoOf(manager);
    expect(await infoOf(await loseAll(manager, origin))).toBe(served);
  });

  it('is written again after another process deleted it', async () => {
    const origin = await testOrigin(SMALL_FLEET);
    const manager = await startFollower(origin);
    await expect.poll(() => recordAt(origin), { timeout: 60_000 }).not.toBe('');
    await origin.bare.git('update-ref', '-d', RECORD);
    await manager.post('/api/v2/apps/web/restart');
    await expect.poll(() => recordAt(origin), { timeout: 60_000 }).not.toBe('');
    await expect
      .poll(async () => (await manager.get('/api/v2/reconcile')).body.ids_record, { timeout: 60_000 })
      .toMatchObject({ problem: null });
  });

  it('is kept in the mirror if origin refuses it, which is logged once and hinders nothing', async () => {
    const origin = await testOrigin(SMALL_FLEET);
    await refuseRecord(origin);
    const manager = await startFollower(origin);
    for (const image of ['a:1', 'a:2']) {
      expect((await manager.put('/api/v2/apps/web/update', { container_image: image })).status).toBe(202);
      await expect
        .poll(async () => (await manager.get('/api/v2/reconcile')).body, { timeout: 60_000 })
        .toSatisfy((body) => body.ids_record.revision === body.revision_applied);
    }
    expect(logged(manager, 'ids are not recorded')).toMatchObject([
      { reason: expect.stringContaining('branches only') },
    ]);
    expect(await problemOf(manager)).toMatch(/kept only in the mirror.*branches only/);
    expect(await recordAt(origin)).toBe('');
    const before = await infoOf(manager);
    await manager.stop();
    await rm(join(manager.dataFolder, 'store.sqlite'));
    const next = await manager.restart();
    expect(await infoOf(next)).toBe(before);
  });

  it('still raises the floor if origin refuses it, the clock was set back and the store was lost', async () => {
    const origin = await testOrigin(SMALL_FLEET);
    await refuseRecord(origin);
    const ahead = await startFollower(origin, { now: () => Date.now() + 86_400_000 });
    const { body: before } = await ahead.get('/api/v2/apps/web');
    await expect.poll(() => problemOf(ahead)).toContain('kept only in the mirror');
    await ahead.stop();
    await rm(join(ahead.dataFolder, 'store.sqlite'));
    await origin.push({ 'desired-state/apps/web.yaml': 'container_image: other\n' });
    const next = await startFollower(origin, { dataFolder: ahead.dataFolder });
    await expect
      .poll(async () => (await next.get('/api/v2/apps/web')).body)
      .toMatchObject({ container_image: 'other' });
    expect((await next.get('/api/v2/apps/web')).body.app_id).toBeGreaterThan(before.app_id);
  });

  it('is still reported as a problem after a restart if origin has not accepted it', async () => {
    const origin = await testOrigin(SMALL_FLEET);
    await refuseRecord(origin);
    const manager = await startFollower(origin);
    await expect.poll(() => problemOf(manager)).not.toBe('');
    const next = await manager.restart();
    await expect.poll(() => problemOf(next)).toContain('kept only in the mirror');
  });

  it.each([
    ['fetches', 'uploadpack.hideRefs', /has refs\/holdfast\/record\/\w+, but hides it.*hideRefs/],
    ['fetches and pushes', 'transfer.hideRefs', /hidden ref/],
  ])(
    'that origin hides from %s is reported as hidden, not as of another manager',
    async (_name, setting, reason) => {
      const origin = await testOrigin(SMALL_FLEET);
      await startFollower(origin).then((first) => first.stop());
      await origin.bare.git('config', setting, 'refs/holdfast');
      const manager = await startFollower(origin);
      await expect.poll(() => problemOf(manager)).toMatch(reason);
      expect(await problemOf(manager)).toContain('kept only in the mirror');
      expect((await manager.put('/api/v2/apps/web/update', { container_image: 'a:1' })).status).toBe(202);
      await origin.bare.git('config', '--unset', setting);
      await manager.reconcile();
      await manager.post('/api/v2/apps/web/restart');
      await expect.poll(() => problemOf(manager)).toMatch(/^$|of another manager/);
    },
  );

  it('that a stale lock blocks at origin is reported with the lock, and is sent once the lock is gone', async () => {
    const origin = await testOrigin(SMALL_FLEET);
    const manager = await startFollower(origin);
    await expect.poll(() => recordAt(origin)).not.toBe('');
    const lock = join(origin.url, `${RECORD}.lock`);
    await writeFile(lock, '');
    await manager.post('/api/v2/apps/web/restart');
    await expect.poll(() => problemOf(manager)).toMatch(/origin has locked refs\/holdfast\/record/);
    const before = await recordAt(origin);
    await rm(lock);
    // Nothing else triggers the push: the record must become complete even if no id changes for a long time.
    await expect.poll(() => recordAt(origin)).not.toBe(before);
    await expect.poll(() => problemOf(manager)).toBe('');
  });

  it('that origin cannot update is not pushed again and again', async () => {
    const origin = await testOrigin(SMALL_FLEET);
    const pushes = join(origin.bare.folder, 'pushes');
    await writeFile(join(origin.bare.folder, 'hooks/pre-receive'), `#!/bin/sh\ncat >> '${pushes}'\n`, {
      mode: 0o755,
    });
    // As if rights were missing; the tests may run as root, whom mode bits do not stop.
    await symlink('nowhere/holdfast', join(origin.bare.folder, 'refs/holdfast'));
    const manager = await startFollower(origin);
    await expect.poll(() => problemOf(manager)).toContain(`origin does not update ${RECORD}`);
    const lines = (await readFile(pushes, 'utf8')).trim().split('\n');
    expect(lines.length).toBeLessThan(8);
  });

  it('is sent once origin accepts it again, and the log reports that', async () => {
    const origin = await testOrigin(SMALL_FLEET);
    const acceptAgain = await refuseRecord(origin);
    const manager = await startFollower(origin);
    await expect.poll(() => logged(manager, 'ids are not recorded').length).toBe(1);
    await acceptAgain();
    await manager.post('/api/v2/apps/web/restart');
    await expect.poll(() => logged(manager, 'ids are recorded again').length).toBe(1);
    expect(await problemOf(manager)).toBe('');
    expect(await recordAt(origin)).not.toBe('');
  });

  it('is kept in the mirror while a ref below its name blocks it, and the status names that ref', async () => {
    const origin = await testOrigin(SMALL_FLEET);
    const manager = await startFollower(origin);
    await expect.poll(() => recordAt(origin), { timeout: 60_000 }).not.toBe('');
    await origin.bare.git('update-ref', '-d', RECORD);
    await origin.bare.git('update-ref', `${RECORD}/odd`, 'main');
    await origin.push({ 'desired-state/apps/web.yaml': 'container_image: pushed:1\n' });
    const { body } = await manager.reconcile();
    expect(body).toMatchObject({
      state: 'applied',
      revision_applied: await origin.bare.git('rev-parse', 'main'),
    });
    const kept = async () => (await manager.get('/api/v2/reconcile')).body.ids_record;
    await expect.poll(kept, { timeout: 60_000 }).toMatchObject({
      revision: body.revision_applied,
      problem: { message: expect.stringContaining(`${RECORD}/odd, which conflicts with`) },
    });
    expect(logged(manager, 'ids are not recorded')).toHaveLength(1);
    await origin.bare.git('update-ref', '-d', `${RECORD}/odd`);
    await manager.post('/api/v2/apps/web/restart');
    await expect.poll(() => recordAt(origin), { timeout: 60_000 }).toContain(RECORD);
  });
});
