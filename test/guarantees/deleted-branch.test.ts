import { rename, rm } from 'node:fs/promises';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { temporaryFolder } from '../support/folder.ts';
import { initRepository } from '../support/git.ts';
import { SMALL_FLEET, startManager, type TestManager } from '../support/manager.ts';
import { startFollower, testOrigin } from '../support/origin.ts';

const UPDATE = '/api/v2/apps/web/update';
const INFO = '/api/v2/device_groups/edge/info';

describe('a followed branch that has no commit any more', () => {
  it.each([
    ['after it was deleted', ['update-ref', '-d', 'refs/heads/main']],
    ['after a user switched to an orphan branch', ['switch', '--quiet', '--orphan', 'new']],
  ])('does not count as an empty fleet, and is followed again when it is back: %s', async (_cause, act) => {
    const first = await startManager({ files: SMALL_FLEET });
    const { git } = first.repository;
    const tip = await git('rev-parse', 'HEAD');
    const before = (await first.get(INFO)).text;
    await git(...act);
    const expectRefused = async (manager: TestManager): Promise<void> => {
      const { body } = await manager.reconcile();
      expect(body).toMatchObject({ state: 'refused', revision_applied: tip });
      expect(body.error.message).toContain('the branch has no commits any more; nothing is deleted');
      expect((await manager.get(INFO)).text).toBe(before);
      expect((await manager.put(UPDATE, { container_image: 'lost:1' })).status).toBe(409);
    };
    await expectRefused(first);
    const next = await first.restart();
    await expectRefused(next);
    await git('update-ref', 'refs/heads/main', tip);
    await git('symbolic-ref', 'HEAD', 'refs/heads/main');
    await git('reset', '--quiet', '--hard');
    expect((await next.reconcile()).body).toMatchObject({ state: 'applied', error: null });
    expect((await next.get(INFO)).text).toBe(before);
    expect((await next.put(UPDATE, { container_image: 'web:2' })).status).toBe(202);
    expect(await next.repository.show('desired-state/apps/web.yaml')).toContain('web:2');
  });
});

describe('a branch of GIT_BRANCH that was renamed', () => {
  it('leaves the fleet in service after a restart, also for workers that start', async () => {
    const first = await startManager({ files: SMALL_FLEET, settings: { GIT_BRANCH: 'main' } });
    const before = (await first.get(INFO)).text;
    await first.repository.git('branch', '-m', 'main', 'other');
    const next = await first.restart();
    expect((await next.get('/api/v2/reconcile')).body).toMatchObject({
      state: 'failing',
      revision_applied: null,
    });
    expect((await next.get(INFO)).text).toBe(before);
    // Workers that start wait until this is true.
    const { status, body } = await next.get('/api/v2/status');
    expect([status, body]).toEqual([200, { api_available: true }]);
  });
});

describe('a branch without a commit, after the store was lost too', () => {
  it.each([
    [
      'in a clone whose branch was deleted',
      async () => {
        const first = await startManager({ files: SMALL_FLEET });
        await first.stop();
        await first.repository.git('update-ref', '-d', 'refs/heads/main');
        return first;
      },
    ],
    [
      'at an origin that was replaced by an empty one',
      async () => {
        const origin = await testOrigin(SMALL_FLEET);
        const first = await startFollower(origin);
        await first.stop();
        await rm(origin.url, { recursive: true });
        await initRepository(origin.url, true);
        return first;
      },
    ],
  ])('tells no device that its group was deleted: %s', async (_where, lose) => {
    const first = await lose();
    const next = await first.restart({ DATA_DIR: join(await temporaryFolder(), 'data') });
    expect((await next.reconcile()).body).toMatchObject({ state: 'applied', revision_applied: null });
    // Devices take 403 to mean that their group was deleted, and stop all containers.
    const { status, headers } = await next.get(INFO);
    expect([status, headers.get('content-type')]).toEqual([503, 'text/plain; charset=utf-8']);
  });

  it('keeps workers that start from stopping their containers while a record of ids is left', async () => {
    const first = await startManager({ files: SMALL_FLEET });
    const { git } = first.repository;
    const tip = await git('rev-parse', 'HEAD');
    await first.stop();
    await git('update-ref', '-d', 'refs/heads/main');
    const next = await first.restart({ DATA_DIR: join(await temporaryFolder(), 'data') });
    const expectUnavailable = async (manager: TestManager): Promise<void> => {
      await manager.reconcile();
      const { status, body } = await manager.get('/api/v2/status');
      expect([status, body]).toEqual([503, { api_available: false }]);
      expect((await manager.get('/readyz')).status).toBe(503);
    };
    await expectUnavailable(next);
    const again = await next.restart();
    await expectUnavailable(again);
    await git('update-ref', 'refs/heads/main', tip);
    await again.reconcile();
    expect((await again.get('/api/v2/status')).body).toEqual({ api_available: true });
    expect((await again.get(INFO)).status).toBe(200);
  });

  it('counts as an empty fleet if there is no record of ids', async () => {
    const manager = await startManager();
    expect((await manager.get('/api/v2/status')).body).toEqual({ api_available: true });
  });
});

describe('a commit that cannot be read after a restart', () => {
  it('leaves the fleet in service, also for workers that start', async () => {
    const first = await startManager({ files: SMALL_FLEET });
    const before = (await first.get(INFO)).text;
    const tip = await first.repository.git('rev-parse', 'HEAD');
    await first.stop();
    const object = join(first.repository.folder, '.git/objects', tip.slice(0, 2), tip.slice(2));
    await rename(object, `${object}.away`);
    const next = await first.restart();
    expect((await next.reconcile()).body.state).toBe('failing');
    expect((await next.get(INFO)).text).toBe(before);
    const { status, body } = await next.get('/api/v2/status');
    expect([status, body]).toEqual([200, { api_available: true }]);
  });
});
