import { mkdir, rename } from 'node:fs/promises';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { temporaryFolder, writeFiles } from '../support/folder.ts';
import { repositoryAt, testRepository } from '../support/git.ts';
import { startManager, type TestManager } from '../support/manager.ts';

const WEB = '/api/v2/apps/web';
const FILES = { 'apps/web.yaml': 'container_image: nginx:1\n', 'device-groups/edge.yaml': 'apps: [web]\n' };
const FILE = 'desired-state/apps/web.yaml';

/** Expects that a manager that has applied no revision serves no fleet, not even an empty one, and gives the reason. */
async function expectNoFleetServed(manager: TestManager, reason: RegExp): Promise<void> {
  for (const path of ['/api/v2/apps', WEB, '/api/v2/device_groups', '/api/v2/device_groups/edge']) {
    const reply = await manager.get(path);
    expect([path, reply.status]).toEqual([path, 503]);
    expect(reply.body.error).toMatch(reason);
  }
  expect((await manager.post('/api/v2/prune')).status).toBe(503);
  // An invalid name is reported first (decisions, "Everything else").
  for (const path of ['/api/v2/apps/-x', '/api/v2/device_groups/-x', '/api/v2/device_groups/-x/info'])
    expect([path, (await manager.get(path)).status]).toEqual([path, 400]);
  const info = await manager.get('/api/v2/device_groups/edge/info');
  expect([info.status, info.headers.get('content-type')]).toEqual([503, 'text/plain; charset=utf-8']);
  const status = await manager.get('/api/v2/status');
  // Workers that start read it, and stop all their containers if it is true.
  expect([status.status, status.body]).toEqual([503, { api_available: false }]);
  const ready = await manager.get('/readyz');
  expect(ready.status).toBe(503);
  expect(ready.body.reason).toMatch(reason);
}

const REPOSITORIES: readonly (readonly [name: string, isRemote: boolean])[] = [
  ['a work tree', false],
  ['a remote repository', true],
];

describe('a first start with wrong settings', () => {
  it.each(REPOSITORIES)('reports that %s lacks GIT_BRANCH, and no write creates it', async (_, isRemote) => {
    const repository = await testRepository();
    await repository.commit({ [FILE]: FILES['apps/web.yaml'] });
    await repository.git('branch', 'next');
    const remote = { GIT_REMOTE: repository.folder, DESIRED_STATE: 'desired-state' };
    const settings = { GIT_BRANCH: 'mian', ...(isRemote ? remote : {}) };
    const manager = await startManager({ repository, settings });
    const reason = /has no branch "mian"; check GIT_BRANCH.*there are: main, next/;
    await expectNoFleetServed(manager, reason);
    expect((await manager.get('/api/v2/reconcile')).body).toMatchObject({
      state: 'failing',
      revision_applied: null,
      error: { message: expect.stringMatching(reason) },
    });
    const write = await manager.post('/api/v2/apps/new', { container_image: 'a' });
    expect(write.status).toBe(503);
    expect(await repository.git('branch', '--format=%(refname:short)')).toBe('main\nnext');
    const corrected = await manager.restart({ GIT_BRANCH: 'main' });
    expect((await corrected.get(WEB)).body).toMatchObject({ container_image: 'nginx:1' });
  });

  it('follows GIT_BRANCH once it is created', async () => {
    const repository = await testRepository();
    await repository.commit({ [FILE]: FILES['apps/web.yaml'] });
    const manager = await startManager({ repository, settings: { GIT_BRANCH: 'live' } });
    expect((await manager.get(WEB)).status).toBe(503);
    await repository.git('branch', 'live');
    await manager.reconcile();
    expect((await manager.get(WEB)).status).toBe(200);
  });

  it.each(REPOSITORIES)('reports that %s lacks DESIRED_STATE, and refuses writes', async (_, isRemote) => {
    const repository = await testRepository();
    await repository.commit({ [FILE]: FILES['apps/web.yaml'] });
    const settings = isRemote
      ? { GIT_REMOTE: repository.folder, DESIRED_STATE: 'desired-sate' }
      : { DESIRED_STATE: join(repository.folder, 'desired-sate') };
    const manager = await startManager({ repository, settings });
    const reason = /the folder of DESIRED_STATE does not exist in commit [0-9a-f]{12}/;
    await expectNoFleetServed(manager, reason);
    expect((await manager.get('/api/v2/reconcile')).body).toMatchObject({ state: 'refused' });
    const write = await manager.post('/api/v2/apps/new', { container_image: 'a' });
    expect([write.status, write.body.error]).toEqual([409, expect.stringMatching(reason)]);
    expect(await repository.git('rev-list', '--count', 'main')).toBe('1');
  });

  it.each(REPOSITORIES)(
    'reports that DESIRED_STATE is above the folder of objects in %s',
    async (_, isRemote) => {
      const repository = await testRepository();
      await repository.commit({ [FILE]: FILES['apps/web.yaml'], 'mkdocs.yml': 'site_name: fleet\n' });
      const settings = isRemote
        ? { GIT_REMOTE: repository.folder, DESIRED_STATE: '.' }
        : { DESIRED_STATE: repository.folder };
      const manager = await startManager({ repository, settings });
      await expectNoFleetServed(manager, /but the folder "desired-state" in it has; check the setting/);
      expect((await manager.get('/api/v2/reconcile')).body).toMatchObject({ state: 'refused' });
      const right = isRemote ? 'desired-state' : join(repository.folder, 'desired-state');
      const corrected = await manager.restart({ DESIRED_STATE: right });
      expect((await corrected.get(WEB)).body).toMatchObject({ container_image: 'nginx:1' });
    },
  );
});

it('a first start on a revision that STRICT refuses serves no fleet', async () => {
  const files = { ...FILES, 'apps/bad.yaml': 'running: maybe\n' };
  const manager = await startManager({ files, settings: { STRICT: 'true' } });
  await expectNoFleetServed(manager, /STRICT refuses it as a whole/);
});

describe('a first start on a folder without objects', () => {
  it('serves an empty fleet if the folder has other files', async () => {
    const repository = await testRepository();
    await repository.commit({ 'mkdocs.yml': 'site_name: fleet\n', 'docs/ops/run.yaml': 'a: 1\n' });
    const manager = await startManager({ repository, settings: { DESIRED_STATE: repository.folder } });
    expect((await manager.get('/api/v2/apps')).body).toEqual({ apps: [] });
    expect((await manager.post(WEB, { container_image: 'first:1' })).status).toBe(200);
  });

  it('serves an empty fleet if the folder exists, but in no commit yet', async () => {
    const repository = await testRepository();
    await repository.commit({ 'README.md': 'what this is\n' });
    await mkdir(join(repository.folder, 'desired-state'));
    const manager = await startManager({ repository });
    expect((await manager.get('/api/v2/apps')).body).toEqual({ apps: [] });
    expect((await manager.post(WEB, { container_image: 'first:1' })).status).toBe(200);
  });

  it('serves an empty fleet if the fleet was emptied on purpose', async () => {
    const repository = await testRepository();
    await repository.commit({ [FILE]: FILES['apps/web.yaml'] });
    await repository.git('rm', '-rq', 'desired-state');
    await repository.git('commit', '-qm', 'All gone\n\nAllow-Empty: true');
    const manager = await startManager({ repository });
    expect((await manager.get('/api/v2/apps')).body).toEqual({ apps: [] });
    expect((await manager.get('/readyz')).status).toBe(200);
  });
});

describe('a start on a folder in no repository', () => {
  it('is refused if the store has revisions, since the repository must have been removed', async () => {
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

  it('makes it a repository if the store is new, with the files as the first commit', async () => {
    const folder = await temporaryFolder();
    await writeFiles(folder, FILES);
    const manager = await startManager({ settings: { DESIRED_STATE: folder } });
    expect((await manager.get(WEB)).body).toMatchObject({ container_image: 'nginx:1' });
    const { git } = repositoryAt(folder);
    expect(await git('ls-tree', '-r', '--name-only', 'HEAD')).toBe(Object.keys(FILES).join('\n'));
    expect(await git('rev-list', '--count', 'HEAD')).toBe('1');
    expect((await manager.post('/api/v2/apps/new', { container_image: 'new:1' })).status).toBe(200);
    expect(manager.log.map(({ msg }) => msg)).toContain(
      'the folder was not in a git repository: created one, with a first commit',
    );
  });
});
