import { appendFile, readdir, rename, rm, symlink, writeFile } from 'node:fs/promises';
import { createServer } from 'node:net';
import { join } from 'node:path';
import { describe, expect, it, onTestFinished } from 'vitest';
import { SMALL_FLEET, type TestManager } from '../support/manager.ts';
import { startFollower, type TestOrigin, testOrigin } from '../support/origin.ts';

const WEB = '/api/v2/apps/web';
const INFO = '/api/v2/device_groups/edge/info';

/** Everything that has to go on while origin is away: reads, devices, operations; and writes say 503 and change nothing. */
async function expectHolding(manager: TestManager, act: () => Promise<unknown>): Promise<void> {
  const before = await Promise.all([manager.get(INFO), manager.get(WEB)]);
  await act();
  const { body } = await manager.reconcile();
  expect(body).toMatchObject({ state: 'failing', error: { kind: 'unavailable' } });
  expect(body.origin.error.since).toMatch(/^\d{4}-/);
  const write = await manager.put(`${WEB}/update`, { container_image: 'lost:1' });
  expect(write.status).toBe(503);
  const after = await Promise.all([manager.get(INFO), manager.get(WEB)]);
  expect(after.map(({ text }) => text)).toEqual(before.map(({ text }) => text));
  expect((await manager.get('/readyz')).status).toBe(200);
  expect((await manager.post(`${WEB}/restart`)).status).toBe(202);
  expect((await manager.get('/metrics')).text).toMatch(/holdfast_failures_in_a_row [1-9]/);
}

/** After whatever was wrong is right again: no restart was needed. */
async function expectHealed(manager: TestManager, origin: TestOrigin): Promise<void> {
  const id = await origin.push({ 'desired-state/apps/healed.yaml': 'container_image: healed\n' });
  expect((await manager.reconcile()).body).toMatchObject({
    state: 'applied',
    error: null,
    revision_applied: id,
    origin: { error: null },
  });
  expect((await manager.put(`${WEB}/update`, { container_image: 'healed:1' })).status).toBe(202);
  expect(await origin.bare.show('desired-state/apps/web.yaml', 'main')).toContain('healed:1');
}

describe('origin', () => {
  it('unreachable: everything but writes goes on, and it heals by itself', async () => {
    const origin = await testOrigin(SMALL_FLEET);
    const manager = await startFollower(origin);
    await expectHolding(manager, () => rename(origin.url, `${origin.url}.away`));
    await rename(`${origin.url}.away`, origin.url);
    await expectHealed(manager, origin);
    expect(manager.log.map(({ msg }) => msg)).toContain('origin works again');
  });

  it('unreachable when the manager starts for the first time: nothing is served for devices, and it heals', async () => {
    const origin = await testOrigin(SMALL_FLEET);
    await rename(origin.url, `${origin.url}.away`);
    const manager = await startFollower(origin);
    const info = await manager.get(INFO);
    expect(info.status).toBe(503);
    expect(info.headers.get('content-type')).toMatch(/^text\/plain/);
    expect((await manager.get('/readyz')).status).toBe(503);
    // Nobody knows yet which apps there are: "there is none" would be made up.
    for (const path of ['/api/v2/apps', WEB, '/api/v2/device_groups'])
      expect((await manager.get(path)).status, path).toBe(503);
    expect((await manager.get('/api/v2/reconcile')).status).toBe(200);
    expect((await manager.post('/api/v2/apps/new', { container_image: 'a' })).status).toBe(503);
    await rename(`${origin.url}.away`, origin.url);
    await expect.poll(async () => (await manager.get(INFO)).status, { timeout: 60_000 }).toBe(200);
  });

  // Writes have one second here: on a slow machine not the first one that heals is done in time.
  it('that hangs: a write answers within the time limit, and nothing of it lives on', async () => {
    const origin = await testOrigin(SMALL_FLEET);
    const manager = await startFollower(origin, { settings: { GIT_TIMEOUT: '1' } });
    const hook = join(origin.url, 'hooks/pre-receive');
    await writeFile(hook, '#!/bin/sh\nexec sleep 600\n', { mode: 0o755 });
    const before = await origin.bare.git('rev-parse', 'main');
    const reply = await manager.put(`${WEB}/update`, { container_image: 'hung:1' });
    expect(reply.status).toBe(503);
    expect(reply.body.error).toContain('did not respond in time');
    expect(await origin.bare.git('rev-parse', 'main')).toBe(before);
    await rm(hook);
    const write = async () => (await manager.put(`${WEB}/update`, { container_image: 'healed:1' })).status;
    await expect.poll(write).toBe(202);
    const status = async () => (await manager.reconcile()).body;
    await expect.poll(status).toMatchObject({ state: 'applied', error: null, origin: { error: null } });
    expect(await origin.bare.show('desired-state/apps/web.yaml', 'main')).toContain('healed:1');
  });

  // The push has to arrive within two seconds: on a slow machine not the first one does.
  it('that hangs after it took the push: the write is found to have arrived', async () => {
    const origin = await testOrigin(SMALL_FLEET);
    const manager = await startFollower(origin, { settings: { GIT_TIMEOUT: '2' } });
    const hook = join(origin.url, 'hooks/post-receive');
    await writeFile(hook, '#!/bin/sh\nexec sleep 600\n', { mode: 0o755 });
    let image = '';
    let tries = 0;
    // Another image each time: a write of what has arrived already would be answered with 202, too.
    const write = async () => {
      image = `slow:${++tries}`;
      return (await manager.put(`${WEB}/update`, { container_image: image })).status;
    };
    await expect.poll(write).toBe(202);
    expect((await manager.get(WEB)).body.container_image).toBe(image);
    const subjects = (await origin.bare.git('log', '--format=%s', 'main')).split('\n');
    expect(subjects.filter((subject) => subject.endsWith(`-> ${image}`))).toEqual([subjects[0]]);
  });

  it('that takes the connection and says nothing', async () => {
    const server = createServer(() => undefined).listen(0, '127.0.0.1');
    await new Promise((resolve) => server.once('listening', resolve));
    onTestFinished(() => void server.close());
    const { port } = server.address() as { port: number };
    const origin = await testOrigin(SMALL_FLEET);
    const url = `https://127.0.0.1:${port}/fleet.git`;
    const manager = await startFollower({ ...origin, url }, { settings: { GIT_TIMEOUT: '1' } });
    expect((await manager.get('/api/v2/reconcile')).body.error.message).toBe(
      'origin did not respond in time',
    );
    expect((await manager.get(INFO)).status).toBe(503);
  });

  it('with a lock of the branch that a dead process left: a write says so', async () => {
    const origin = await testOrigin(SMALL_FLEET);
    const manager = await startFollower(origin);
    const lock = join(origin.bare.folder, 'refs/heads/main.lock');
    await writeFile(lock, '');
    const reply = await manager.put('/api/v2/apps/web/update', { container_image: 'web:2' });
    expect([reply.status, reply.text]).toEqual([409, expect.stringContaining('refs/heads/main.lock')]);
    await rm(lock);
    expect((await manager.put('/api/v2/apps/web/update', { container_image: 'web:2' })).status).toBe(202);
  });

  it.each([
    {
      name: 'that cannot write the branch',
      spoil: async ({ bare }: TestOrigin) => {
        await bare.git('pack-refs', '--all');
        await rm(join(bare.folder, 'refs/heads'), { recursive: true });
        // Like missing rights, and root has those always.
        await symlink('nowhere/heads', join(bare.folder, 'refs/heads'));
      },
      heal: ({ bare }: TestOrigin) => rm(join(bare.folder, 'refs/heads')),
      says: 'origin does not update the branch, although nobody else has: ',
    },
    {
      name: 'that hides the branch from those who push',
      spoil: ({ bare }: TestOrigin) => bare.git('config', 'receive.hideRefs', 'refs/heads'),
      heal: ({ bare }: TestOrigin) => bare.git('config', '--unset', 'receive.hideRefs'),
      says: 'origin hides the branch from pushes; make it show refs/heads (transfer.hideRefs, receive.hideRefs)',
    },
    {
      name: 'that cannot keep objects',
      spoil: ({ bare }: TestOrigin) => bare.git('config', 'receive.maxInputSize', '1'),
      heal: ({ bare }: TestOrigin) => bare.git('config', '--unset', 'receive.maxInputSize'),
      says: 'origin rejected the push: unpacker error: fatal: pack exceeds maximum allowed size',
    },
    {
      name: 'whose reference-transaction hook refuses',
      spoil: ({ bare }: TestOrigin) =>
        writeFile(join(bare.folder, 'hooks/reference-transaction'), '#!/bin/sh\nexit 1\n', { mode: 0o755 }),
      heal: ({ bare }: TestOrigin) => rm(join(bare.folder, 'hooks/reference-transaction')),
      says: 'origin rejected the push: reference-transaction hook declined',
    },
  ])('$name: a write says so, and changes nothing', async ({ spoil, heal, says }) => {
    const origin = await testOrigin(SMALL_FLEET);
    const manager = await startFollower(origin);
    const tip = await origin.bare.git('rev-parse', 'main');
    await spoil(origin);
    const reply = await manager.put(`${WEB}/update`, { container_image: 'web:2' });
    expect([reply.status, reply.body.error]).toEqual([409, expect.stringContaining(says)]);
    expect(await origin.bare.git('rev-parse', 'main')).toBe(tip);
    await heal(origin);
    expect((await manager.put(`${WEB}/update`, { container_image: 'web:2' })).status).toBe(202);
  });

  it('without the branch: the last good state stays', async () => {
    const origin = await testOrigin(SMALL_FLEET);
    const manager = await startFollower(origin);
    await origin.bare.git('branch', 'kept', 'main');
    await expectHolding(manager, () => origin.bare.git('update-ref', '-d', 'refs/heads/main'));
    expect((await manager.get('/api/v2/reconcile')).body.error.message).toBe(
      'origin has no branch "main" any more; check GIT_BRANCH, or create the branch (there are: kept)',
    );
    await origin.bare.git('branch', 'main', 'kept');
    await expectHealed(manager, origin);
  });

  it('replaced by another repository: applied like a rewritten history, and no id falls', async () => {
    const origin = await testOrigin(SMALL_FLEET);
    const manager = await startFollower(origin);
    const before = (await manager.get(WEB)).body.app_id;
    const other = await testOrigin({ ...SMALL_FLEET, 'apps/web.yaml': 'container_image: other:1\n' });
    await rm(origin.url, { recursive: true });
    await rename(other.url, origin.url);
    const { body } = await manager.reconcile();
    expect(body).toMatchObject({ state: 'applied', history_rewritten: { from: expect.any(String) } });
    const after = (await manager.get(WEB)).body;
    expect(after.container_image).toBe('other:1');
    expect(after.app_id).toBeGreaterThan(before);
    expect(manager.log.map(({ msg }) => msg)).toContain('history was rewritten');
  });

  it('with a rewritten history: ids only rise', async () => {
    const origin = await testOrigin(SMALL_FLEET);
    const manager = await startFollower(origin);
    await origin.push({ 'desired-state/apps/web.yaml': 'container_image: v2\n' });
    await manager.reconcile();
    const before = (await manager.get(WEB)).body.app_id;
    await origin.person.git('reset', '--quiet', '--hard', 'HEAD~1');
    await origin.person.git('push', '--quiet', '--force', 'origin', 'HEAD:main');
    expect((await manager.reconcile()).body.history_rewritten).not.toBeNull();
    expect((await manager.get(WEB)).body).toMatchObject({
      container_image: 'nginx:1.26',
      app_id: before + 1,
    });
  });

  it('emptied: refused whole', async () => {
    const origin = await testOrigin(SMALL_FLEET);
    const manager = await startFollower(origin);
    await origin.person.git('rm', '-r', '--quiet', 'desired-state');
    await origin.person.git('commit', '--quiet', '-m', 'oops');
    await origin.person.git('push', '--quiet', 'origin', 'HEAD:main');
    expect((await manager.reconcile()).body).toMatchObject({ state: 'refused', error: { kind: 'refused' } });
    expect((await manager.get('/api/v2/apps')).body.apps).toHaveLength(2);
  });
});

describe('the mirror', () => {
  const mirrorOf = (manager: TestManager): string => join(manager.dataFolder, 'mirror.git');

  it.each<[string, (folder: string) => Promise<unknown>]>([
    ['deleted', (folder) => rm(folder, { recursive: true })],
    ['without HEAD', (folder) => rm(join(folder, 'HEAD'))],
    ['without its objects', (folder) => rm(join(folder, 'objects'), { recursive: true })],
    ['without its packs', (folder) => rm(join(folder, 'objects/pack'), { recursive: true })],
    ['with a damaged pack', (folder) => damagePacks(folder)],
    ['with a config that git cannot read', (folder) => appendFile(join(folder, 'config'), '\n[[[')],
  ])('%s is made again from origin, while running', async (_, damage) => {
    const origin = await testOrigin(SMALL_FLEET);
    const manager = await startFollower(origin);
    const before = (await manager.get(INFO)).text;
    await damage(mirrorOf(manager));
    const id = await origin.push({ 'desired-state/apps/cron.yaml': 'container_image: cron:4\n' });
    await expect
      .poll(async () => (await manager.reconcile()).body, { timeout: 60_000, interval: 200 })
      .toMatchObject({ state: 'applied', revision_applied: id, error: null });
    expect((await manager.get(INFO)).text).not.toBe(before);
    expect((await manager.put(`${WEB}/update`, { container_image: 'again:1' })).status).toBe(202);
    expect(await readdir(manager.dataFolder)).not.toContain('mirror.git.new');
  });

  it.each<[string, (folder: string) => Promise<unknown>]>([
    ['deleted', (folder) => rm(folder, { recursive: true })],
    ['without its objects', (folder) => rm(join(folder, 'objects'), { recursive: true })],
    ['with a damaged pack', (folder) => damagePacks(folder)],
    ['with locks of a dead process', (folder) => leaveLocks(folder)],
  ])('%s is made again from origin at the next start; no id moves', async (_, damage) => {
    const origin = await testOrigin(SMALL_FLEET);
    const manager = await startFollower(origin);
    await manager.put(`${WEB}/update`, { container_image: 'kept:1' });
    const before = (await manager.get(INFO)).text;
    await manager.stop();
    await damage(mirrorOf(manager));
    const next = await manager.restart();
    await expect
      .poll(async () => (await next.get('/api/v2/reconcile')).body.state, { timeout: 60_000 })
      .toBe('applied');
    expect((await next.get(INFO)).text).toBe(before);
    expect((await next.put(`${WEB}/update`, { container_image: 'again:1' })).status).toBe(202);
  });
});

async function damagePacks(folder: string): Promise<void> {
  const packs = join(folder, 'objects/pack');
  for (const name of await readdir(packs)) {
    if (!name.endsWith('.pack')) continue;
    await rm(join(packs, name));
    await writeFile(join(packs, name), 'PACK, not really');
  }
}

async function leaveLocks(folder: string): Promise<void> {
  for (const name of ['HEAD.lock', 'packed-refs.lock', 'config.lock', 'refs/remotes/origin/main.lock'])
    await writeFile(join(folder, name), '');
}
