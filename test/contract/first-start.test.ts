import { mkdir, rename } from 'node:fs/promises';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { temporaryFolder } from '../support/folder.ts';
import { testRepository } from '../support/git.ts';
import { startManager } from '../support/manager.ts';

const WEB = '/api/v2/apps/web';
const FILES = { 'apps/web.yaml': 'container_image: nginx:1\n', 'device-groups/edge.yaml': 'apps: [web]\n' };
const FILE = 'desired-state/apps/web.yaml';

/** What a manager says that has applied nothing, and must not make anything up. */
async function expectNothingKnown(manager: Awaited<ReturnType<typeof startManager>>, why: RegExp) {
  for (const path of ['/api/v2/apps', WEB, '/api/v2/device_groups', '/api/v2/device_groups/edge']) {
    const reply = await manager.get(path);
    expect([path, reply.status]).toEqual([path, 503]);
    expect(reply.body.error).toMatch(why);
  }
  expect((await manager.post('/api/v2/prune')).status).toBe(503);
  // A name that is none is told before (decisions, "Everything else").
  for (const path of ['/api/v2/apps/-x', '/api/v2/device_groups/-x', '/api/v2/device_groups/-x/info'])
    expect([path, (await manager.get(path)).status]).toEqual([path, 400]);
  const info = await manager.get('/api/v2/device_groups/edge/info');
  expect([info.status, info.headers.get('content-type')]).toEqual([503, 'text/plain; charset=utf-8']);
  const status = await manager.get('/api/v2/status');
  // Workers that start ask for it, and stop all their containers when it says true.
  expect([status.status, status.body]).toEqual([503, { api_available: false }]);
  const ready = await manager.get('/readyz');
  expect(ready.status).toBe(503);
  expect(ready.body.reason).toMatch(why);
}

describe('a first start with a mistake in its settings', () => {
  it.each([
    { name: 'in a work tree', isRemote: false },
    { name: 'at a remote', isRemote: true },
  ])('a branch that is not there, $name, is told, and no write makes it', async ({ isRemote }) => {
    const repository = await testRepository();
    await repository.commit({ [FILE]: FILES['apps/web.yaml'] });
    await repository.git('branch', 'next');
    const remote = { GIT_REMOTE: repository.folder, DESIRED_STATE: 'desired-state' };
    const settings = { GIT_BRANCH: 'mian', ...(isRemote ? remote : {}) };
    const manager = await startManager({ repository, settings });
    const why = /has no branch "mian"; check GIT_BRANCH.*there are: main, next/;
    await expectNothingKnown(manager, why);
    expect((await manager.get('/api/v2/reconcile')).body).toMatchObject({
      state: 'failing',
      revision_applied: null,
      error: { message: expect.stringMatching(why) },
    });
    const write = await manager.post('/api/v2/apps/new', { container_image: 'a' });
    expect(write.status).toBe(503);
    expect(await repository.git('branch', '--format=%(refname:short)')).toBe('main\nnext');
    const mended = await manager.restart({ GIT_BRANCH: 'main' });
    expect((await mended.get(WEB)).body).toMatchObject({ container_image: 'nginx:1' });
  });

  it('a branch that is made later is followed', async () => {
    const repository = await testRepository();
    await repository.commit({ [FILE]: FILES['apps/web.yaml'] });
    const manager = await startManager({ repository, settings: { GIT_BRANCH: 'live' } });
    expect((await manager.get(WEB)).status).toBe(503);
    await repository.git('branch', 'live');
    await manager.reconcile();
    expect((await manager.get(WEB)).status).toBe(200);
  });

  it.each([
    { name: 'in a work tree', isRemote: false },
    { name: 'at a remote', isRemote: true },
  ])('a folder that no commit has, $name, is told', async ({ isRemote }) => {
    const repository = await testRepository();
    await repository.commit({ [FILE]: FILES['apps/web.yaml'] });
    const settings = isRemote
      ? { GIT_REMOTE: repository.folder, DESIRED_STATE: 'desired-sate' }
      : { DESIRED_STATE: join(repository.folder, 'desired-sate') };
    const manager = await startManager({ repository, settings });
    const why = /the folder of DESIRED_STATE does not exist in commit [0-9a-f]{12}/;
    await expectNothingKnown(manager, why);
    expect((await manager.get('/api/v2/reconcile')).body).toMatchObject({ state: 'refused' });
    const write = await manager.post('/api/v2/apps/new', { container_image: 'a' });
    expect([write.status, write.body.error]).toEqual([409, expect.stringMatching(why)]);
    expect(await repository.git('rev-list', '--count', 'main')).toBe('1');
  });

  it.each([
    { name: 'in a work tree', isRemote: false },
    { name: 'at a remote', isRemote: true },
  ])('a folder around the one that is meant, $name, is told', async ({ isRemote }) => {
    const repository = await testRepository();
    await repository.commit({ [FILE]: FILES['apps/web.yaml'], 'mkdocs.yml': 'site_name: fleet\n' });
    const settings = isRemote
      ? { GIT_REMOTE: repository.folder, DESIRED_STATE: '.' }
      : { DESIRED_STATE: repository.folder };
    const manager = await startManager({ repository, settings });
    await expectNothingKnown(manager, /but the folder "desired-state" in it has; check the setting/);
    expect((await manager.get('/api/v2/reconcile')).body).toMatchObject({ state: 'refused' });
    const right = isRemote ? 'desired-state' : join(repository.folder, 'desired-state');
    const mended = await manager.restart({ DESIRED_STATE: right });
    expect((await mended.get(WEB)).body).toMatchObject({ container_image: 'nginx:1' });
  });

  it('a folder with other files in it is a new fleet', async () => {
    const repository = await testRepository();
    await repository.commit({ 'mkdocs.yml': 'site_name: fleet\n', 'docs/ops/run.yaml': 'a: 1\n' });
    const manager = await startManager({ repository, settings: { DESIRED_STATE: repository.folder } });
    expect((await manager.get('/api/v2/apps')).body).toEqual({ apps: [] });
    expect((await manager.post(WEB, { container_image: 'first:1' })).status).toBe(200);
  });

  it('a folder that somebody has made, and no commit has yet, is a new fleet', async () => {
    const repository = await testRepository();
    await repository.commit({ 'README.md': 'what this is\n' });
    await mkdir(join(repository.folder, 'desired-state'));
    const manager = await startManager({ repository });
    expect((await manager.get('/api/v2/apps')).body).toEqual({ apps: [] });
    expect((await manager.post(WEB, { container_image: 'first:1' })).status).toBe(200);
  });

  it('a fleet that was emptied on purpose is empty for a new store, too', async () => {
    const repository = await testRepository();
    await repository.commit({ [FILE]: FILES['apps/web.yaml'] });
    await repository.git('rm', '-rq', 'desired-state');
    await repository.git('commit', '-qm', 'All gone\n\nAllow-Empty: true');
    const manager = await startManager({ repository });
    expect((await manager.get('/api/v2/apps')).body).toEqual({ apps: [] });
    expect((await manager.get('/readyz')).status).toBe(200);
  });

  it('with STRICT, a first revision that is refused says nothing of the fleet', async () => {
    const files = { ...FILES, 'apps/bad.yaml': 'running: maybe\n' };
    const manager = await startManager({ files, settings: { STRICT: 'true' } });
    await expectNothingKnown(manager, /STRICT refuses it as a whole/);
  });
});

describe('a folder in no repository', () => {
  it('gets none where the store has revisions: somebody took the repository away', async () => {
    const manager = await startManager({ files: FILES });
    const { folder } = manager.repository;
    await manager.stop();
    await rename(join(folder, '.git'), join(folder, '.git-away'));
    await expect(manager.restart()).rejects.toMatchObject({
      kind: 'invalid',
      message: expect.stringMatching(/no longer in a git repository.*restore the repository/),
    });
    await rename(join(folder, '.git-away'), join(folder, '.git'));
    const again = await manager.restart();
    expect((await again.get(WEB)).status).toBe(200);
  });

  it('gets one at a first start, with what is in it as the first commit', async () => {
    const folder = await temporaryFolder();
    await mkdir(join(folder, 'apps'));
    const manager = await startManager({ settings: { DESIRED_STATE: folder } });
    expect((await manager.post(WEB, { container_image: 'first:1' })).status).toBe(200);
    expect(manager.log.map(({ msg }) => msg)).toContain(
      'the folder was not in a git repository: created one, with a first commit',
    );
  });
});
