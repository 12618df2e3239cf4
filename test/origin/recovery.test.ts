import { existsSync } from 'node:fs';
import { rename, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { SMALL_FLEET, type TestManager } from '../support/manager.ts';
import { startFollower, type TestOrigin, testOrigin } from '../support/origin.ts';

const WEB = 'desired-state/apps/web.yaml';
const UPDATE = '/api/v2/apps/web/update';

/** Pushes to an origin that was renamed, and renames it back, so that no fetch finds it without the commit. */
async function bringBackWith({ url, user }: TestOrigin, image: string): Promise<string> {
  const id = await user.commit({ [WEB]: `container_image: ${image}\n` });
  await user.git('push', '--quiet', `${url}.away`, 'HEAD:refs/heads/main');
  await rename(`${url}.away`, url);
  return id;
}

/** Waits until the manager has applied the revision by its own retries: it does not poll, and is not asked to. */
async function expectApplied(manager: TestManager, revision: string): Promise<void> {
  await expect
    .poll(async () => (await manager.get('/api/v2/reconcile')).body)
    .toMatchObject({ revision_applied: revision, state: 'applied', error: null });
}

describe('the manager recovers by itself', () => {
  it('from an origin that was lost while a revision was refused', async () => {
    const origin = await testOrigin(SMALL_FLEET);
    const manager = await startFollower(origin, { settings: { STRICT: 'true' } });
    await origin.push({ [WEB]: 'no_such_field: 1\n' });
    expect((await manager.reconcile()).body.state).toBe('refused');
    await rename(origin.url, `${origin.url}.away`);
    await manager.reconcile();
    await expectApplied(manager, await bringBackWith(origin, 'fixed:1'));
  });

  it('from an outage of origin that a write found, after the status has reported it', async () => {
    const origin = await testOrigin(SMALL_FLEET);
    const manager = await startFollower(origin);
    await rename(origin.url, `${origin.url}.away`);
    expect((await manager.put(UPDATE, { container_image: 'lost:1' })).status).toBe(503);
    await expect
      .poll(async () => (await manager.get('/api/v2/reconcile')).body)
      .toMatchObject({ state: 'failing', origin: { error: { since: expect.any(String) } } });
    await expectApplied(manager, await bringBackWith(origin, 'back:1'));
  });
});

describe('what an interrupted fetch left in the mirror', () => {
  it('is removed after a fetch that failed, even by one that brings nothing new: locks, and half of a pack', async () => {
    const origin = await testOrigin(SMALL_FLEET);
    const manager = await startFollower(origin);
    const mirror = join(manager.dataFolder, 'mirror.git');
    await rename(origin.url, `${origin.url}.away`);
    await manager.reconcile();
    const left = ['packed-refs.lock', 'refs/remotes/origin/main.lock', 'objects/pack/tmp_pack_half'];
    const paths = left.map((name) => join(mirror, name));
    for (const path of paths) await writeFile(path, 'PACK');
    await rename(`${origin.url}.away`, origin.url);
    await manager.reconcile();
    expect(paths.filter((path) => existsSync(path))).toEqual([]);
  });

  it('does not keep the next fetch from working for long', async () => {
    const origin = await testOrigin(SMALL_FLEET);
    const manager = await startFollower(origin);
    const lock = join(manager.dataFolder, 'mirror.git/refs/remotes/origin/main.lock');
    await writeFile(lock, '');
    const id = await origin.push({ [WEB]: 'container_image: on:1\n' });
    await manager.reconcile();
    await expectApplied(manager, id);
    expect(existsSync(lock)).toBe(false);
  });
});
