import { readdir, rename, utimes, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { SMALL_FLEET, type TestManager } from '../support/manager.ts';
import { startFollower, type TestOrigin, testOrigin } from '../support/origin.ts';

const WEB = 'desired-state/apps/web.yaml';
const UPDATE = '/api/v2/apps/web/update';

/** Pushes to an origin that is out of the way, and brings it back: no look finds it without the commit. */
async function comeBackWith({ url, person }: TestOrigin, image: string): Promise<string> {
  const id = await person.commit({ [WEB]: `container_image: ${image}\n` });
  await person.git('push', '--quiet', `${url}.away`, 'HEAD:refs/heads/main');
  await rename(`${url}.away`, url);
  return id;
}

/** Managers of these tests do not poll: what heals was tried again by itself. */
async function expectApplied(manager: TestManager, revision: string): Promise<void> {
  await expect
    .poll(async () => (await manager.get('/api/v2/reconcile')).body)
    .toMatchObject({ revision_applied: revision, state: 'applied', error: null });
}

describe('without anybody asking, it heals', () => {
  it('after a revision was refused and origin went away', async () => {
    const origin = await testOrigin(SMALL_FLEET);
    const manager = await startFollower(origin, { settings: { STRICT: 'true' } });
    await origin.push({ [WEB]: 'no_such_field: 1\n' });
    expect((await manager.reconcile()).body.state).toBe('refused');
    await rename(origin.url, `${origin.url}.away`);
    await manager.reconcile();
    await expectApplied(manager, await comeBackWith(origin, 'mended:1'));
  });

  it('after a write found origin away: status says so, and it is looked at again', async () => {
    const origin = await testOrigin(SMALL_FLEET);
    const manager = await startFollower(origin);
    await rename(origin.url, `${origin.url}.away`);
    expect((await manager.put(UPDATE, { container_image: 'lost:1' })).status).toBe(503);
    await expect
      .poll(async () => (await manager.get('/api/v2/reconcile')).body)
      .toMatchObject({ state: 'failing', origin: { error: { since: expect.any(String) } } });
    await expectApplied(manager, await comeBackWith(origin, 'back:1'));
  });

  it('after a fetch was ended in the middle: its locks and its half of a pack go', async () => {
    const origin = await testOrigin(SMALL_FLEET);
    const manager = await startFollower(origin);
    const mirror = join(manager.dataFolder, 'mirror.git');
    for (const name of ['packed-refs.lock', 'refs/remotes/origin/main.lock'])
      await writeFile(join(mirror, name), '');
    const half = join(mirror, 'objects/pack/tmp_pack_half');
    await writeFile(half, 'PACK');
    await utimes(half, new Date(0), new Date(0));
    const id = await origin.push({ [WEB]: 'container_image: on:1\n' });
    await manager.reconcile();
    await expectApplied(manager, id);
    expect(await readdir(join(mirror, 'objects/pack'))).not.toContain('tmp_pack_half');
  });

  it('after a fetch filled the disk, and what was pushed was taken back: its half of a pack goes when it is old', async () => {
    const origin = await testOrigin(SMALL_FLEET);
    const manager = await startFollower(origin);
    await rename(origin.url, `${origin.url}.away`);
    await manager.reconcile();
    const packs = join(manager.dataFolder, 'mirror.git/objects/pack');
    await writeFile(join(packs, 'tmp_pack_half'), 'PACK');
    await rename(`${origin.url}.away`, origin.url);
    await manager.reconcile();
    await manager.reconcile();
    expect(await readdir(packs)).toContain('tmp_pack_half');
    await utimes(join(packs, 'tmp_pack_half'), new Date(0), new Date(0));
    await manager.reconcile();
    expect(await readdir(packs)).not.toContain('tmp_pack_half');
  });
});

describe('settings of another day', () => {
  it('a branch whose name begins with that of the one that was followed before', async () => {
    const origin = await testOrigin(SMALL_FLEET);
    const manager = await startFollower(origin);
    await origin.person.git('switch', '--quiet', '-c', 'next');
    await origin.person.commit({ [WEB]: 'container_image: next:1\n' });
    await origin.bare.git('symbolic-ref', 'HEAD', 'refs/heads/main/next');
    await origin.person.git('push', '--quiet', 'origin', ':main');
    await origin.person.git('push', '--quiet', 'origin', 'next:main/next');
    const next = await manager.restart({ GIT_BRANCH: 'main/next' });
    expect((await next.get('/api/v2/apps/web')).body.container_image).toBe('next:1');
    expect((await next.get('/api/v2/reconcile')).body).toMatchObject({ state: 'applied', error: null });
  });
});
