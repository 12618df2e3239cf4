import { rename, rm } from 'node:fs/promises';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { temporaryFolder } from '../support/folder.ts';
import { initRepository } from '../support/git.ts';
import { SMALL_FLEET, startManager, type TestManager } from '../support/manager.ts';
import { startFollower, testOrigin } from '../support/origin.ts';

const UPDATE = '/api/v2/apps/web/update';
const INFO = '/api/v2/device_groups/edge/info';

describe('a branch that is followed, and then has no commit', () => {
  it.each([
    { name: 'since it was deleted', act: ['update-ref', '-d', 'refs/heads/main'] },
    { name: 'since a person begins a new one', act: ['switch', '--quiet', '--orphan', 'new'] },
  ])('is no empty fleet, $name: status says what is missing, and it heals', async ({ act }) => {
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

describe('a branch that is followed, and then is not there', () => {
  it('keeps no worker waiting that starts: its manager has the fleet, also after a restart', async () => {
    const first = await startManager({ files: SMALL_FLEET, settings: { GIT_BRANCH: 'main' } });
    const before = (await first.get(INFO)).text;
    await first.repository.git('branch', '-m', 'main', 'other');
    const next = await first.restart();
    expect((await next.get('/api/v2/reconcile')).body).toMatchObject({
      state: 'failing',
      revision_applied: null,
    });
    expect((await next.get(INFO)).text).toBe(before);
    // Workers that start ask for it until it is true.
    const { status, body } = await next.get('/api/v2/status');
    expect([status, body]).toEqual([200, { api_available: true }]);
  });
});

describe('a branch without a commit, and a store that was lost with it', () => {
  it.each([
    {
      name: 'where the branch of a clone was deleted',
      lose: async () => {
        const first = await startManager({ files: SMALL_FLEET });
        await first.stop();
        await first.repository.git('update-ref', '-d', 'refs/heads/main');
        return first;
      },
    },
    {
      name: 'where origin is an empty one now',
      lose: async () => {
        const origin = await testOrigin(SMALL_FLEET);
        const first = await startFollower(origin);
        await first.stop();
        await rm(origin.url, { recursive: true });
        await initRepository(origin.url, true);
        return first;
      },
    },
  ])('tells no device that its group was deleted, $name', async ({ lose }) => {
    const first = await lose();
    const next = await first.restart({ DATA_DIR: join(await temporaryFolder(), 'data') });
    expect((await next.reconcile()).body).toMatchObject({ state: 'applied', revision_applied: null });
    // Devices take 403 for the end of their group, and stop all that runs.
    const { status, headers } = await next.get(INFO);
    expect([status, headers.get('content-type')]).toEqual([503, 'text/plain; charset=utf-8']);
  });

  it('is no fleet that workers may stop their containers for, where ids of it are left', async () => {
    const first = await startManager({ files: SMALL_FLEET });
    const { git } = first.repository;
    const tip = await git('rev-parse', 'HEAD');
    await first.stop();
    await git('update-ref', '-d', 'refs/heads/main');
    const next = await first.restart({ DATA_DIR: join(await temporaryFolder(), 'data') });
    const expectUnknown = async (manager: TestManager): Promise<void> => {
      await manager.reconcile();
      const { status, body } = await manager.get('/api/v2/status');
      expect([status, body]).toEqual([503, { api_available: false }]);
      expect((await manager.get('/readyz')).status).toBe(503);
    };
    await expectUnknown(next);
    const again = await next.restart();
    await expectUnknown(again);
    await git('update-ref', 'refs/heads/main', tip);
    await again.reconcile();
    expect((await again.get('/api/v2/status')).body).toEqual({ api_available: true });
    expect((await again.get(INFO)).status).toBe(200);
  });

  it('is an empty fleet where nothing is left of another one', async () => {
    const manager = await startManager();
    expect((await manager.get('/api/v2/status')).body).toEqual({ api_available: true });
  });
});

describe('a commit that cannot be read after a restart', () => {
  it('is no reason to tell workers that the fleet is not known: it is served', async () => {
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
