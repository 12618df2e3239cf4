import { mkdir, readFile, rename } from 'node:fs/promises';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { temporaryFolder, writeFiles } from '../support/folder.ts';
import { repositoryAt, testRepository } from '../support/git.ts';
import { startManager, type TestManager } from '../support/manager.ts';

const WEB = '/api/v2/apps/web';
const FILES = { 'apps/web.yaml': 'container_image: nginx:1\n', 'device-groups/edge.yaml': 'apps: [web]\n' };
const FILE = 'desired-state/apps/web.yaml';

/** Where the manager reads its branch from; each kind of source has its own code for these mistakes. */
const SOURCES = [
  ['in a work tree', false],
  ['at a remote', true],
] as const;

/** Expects a manager that has applied nothing to report that, with this reason, and never an empty fleet. */
async function expectNothingServed(manager: TestManager, why: RegExp): Promise<void> {
  for (const path of ['/api/v2/apps', WEB, '/api/v2/device_groups', '/api/v2/device_groups/edge']) {
    const reply = await manager.get(path);
    expect([path, reply.status]).toEqual([path, 503]);
    expect(reply.body.error).toMatch(why);
  }
  expect((await manager.post('/api/v2/prune')).status).toBe(503);
  // An invalid name is reported first (docs/contract.md, 5.6).
  for (const path of ['/api/v2/apps/-x', '/api/v2/device_groups/-x', '/api/v2/device_groups/-x/info'])
    expect([path, (await manager.get(path)).status]).toEqual([path, 400]);
  const info = await manager.get('/api/v2/device_groups/edge/info');
  expect([info.status, info.headers.get('content-type')]).toEqual([503, 'text/plain; charset=utf-8']);
  const status = await manager.get('/api/v2/status');
  // Workers request this when they start, and stop all their containers if it is true.
  expect([status.status, status.body]).toEqual([503, { api_available: false }]);
  const ready = await manager.get('/readyz');
  expect(ready.status).toBe(503);
  expect(ready.body.reason).toMatch(why);
}

describe('a manager that starts for the first time', () => {
  it.each(SOURCES)(
    'reports a branch that does not exist, and no write creates it: %s',
    async (_, isRemote) => {
      const repository = await testRepository();
      await repository.commit({ [FILE]: FILES['apps/web.yaml'] });
      await repository.git('branch', 'next');
      const remote = { GIT_REMOTE: repository.folder, DESIRED_STATE: 'desired-state' };
      const settings = { GIT_BRANCH: 'mian', ...(isRemote ? remote : {}) };
      const manager = await startManager({ repository, settings });
      const why = /has no branch "mian"; check GIT_BRANCH.*there are: main, next/;
      await expectNothingServed(manager, why);
      expect((await manager.get('/api/v2/reconcile')).body).toMatchObject({
        state: 'failing',
        revision_applied: null,
        error: { message: expect.stringMatching(why) },
      });
      const write = await manager.post('/api/v2/apps/new', { container_image: 'a' });
      expect(write.status).toBe(503);
      expect(await repository.git('branch', '--format=%(refname:short)')).toBe('main\nnext');
      const corrected = await manager.restart({ GIT_BRANCH: 'main' });
      expect((await corrected.get(WEB)).body).toMatchObject({ container_image: 'nginx:1' });
    },
  );

  it('follows a missing branch once it is created', async () => {
    const repository = await testRepository();
    await repository.commit({ [FILE]: FILES['apps/web.yaml'] });
    const manager = await startManager({ repository, settings: { GIT_BRANCH: 'live' } });
    expect((await manager.get(WEB)).status).toBe(503);
    await repository.git('branch', 'live');
    await manager.reconcile();
    expect((await manager.get(WEB)).status).toBe(200);
  });

  it.each(SOURCES)('reports a folder that no commit has, and refuses writes: %s', async (_, isRemote) => {
    const repository = await testRepository();
    await repository.commit({ [FILE]: FILES['apps/web.yaml'] });
    const settings = isRemote
      ? { GIT_REMOTE: repository.folder, DESIRED_STATE: 'desired-sate' }
      : { DESIRED_STATE: join(repository.folder, 'desired-sate') };
    const manager = await startManager({ repository, settings });
    const why = /the folder of DESIRED_STATE does not exist in commit [0-9a-f]{12}/;
    await expectNothingServed(manager, why);
    expect((await manager.get('/api/v2/reconcile')).body).toMatchObject({ state: 'refused' });
    const write = await manager.post('/api/v2/apps/new', { container_image: 'a' });
    expect([write.status, write.body.error]).toEqual([409, expect.stringMatching(why)]);
    expect(await repository.git('rev-list', '--count', 'main')).toBe('1');
  });

  it.each(SOURCES)(
    'reports the folder above the right one, and serves the fleet once that is corrected: %s',
    async (_, isRemote) => {
      const repository = await testRepository();
      await repository.commit({ [FILE]: FILES['apps/web.yaml'], 'mkdocs.yml': 'site_name: fleet\n' });
      const settings = isRemote
        ? { GIT_REMOTE: repository.folder, DESIRED_STATE: '.' }
        : { DESIRED_STATE: repository.folder };
      const manager = await startManager({ repository, settings });
      await expectNothingServed(manager, /but the folder "desired-state" in it has; check the setting/);
      expect((await manager.get('/api/v2/reconcile')).body).toMatchObject({ state: 'refused' });
      const right = isRemote ? 'desired-state' : join(repository.folder, 'desired-state');
      const corrected = await manager.restart({ DESIRED_STATE: right });
      expect((await corrected.get(WEB)).body).toMatchObject({ container_image: 'nginx:1' });
    },
  );

  it('serves an empty fleet if the folder has other files only', async () => {
    const repository = await testRepository();
    await repository.commit({ 'mkdocs.yml': 'site_name: fleet\n', 'docs/ops/run.yaml': 'a: 1\n' });
    const manager = await startManager({ repository, settings: { DESIRED_STATE: repository.folder } });
    expect((await manager.get('/api/v2/apps')).body).toEqual({ apps: [] });
    expect((await manager.post(WEB, { container_image: 'first:1' })).status).toBe(200);
  });

  it('serves an empty fleet if the folder exists but is in no commit yet', async () => {
    const repository = await testRepository();
    await repository.commit({ 'README.md': 'what this is\n' });
    await mkdir(join(repository.folder, 'desired-state'));
    const manager = await startManager({ repository });
    expect((await manager.get('/api/v2/apps')).body).toEqual({ apps: [] });
    expect((await manager.post(WEB, { container_image: 'first:1' })).status).toBe(200);
  });

  it('serves an empty fleet if a commit has deleted every object on purpose', async () => {
    const repository = await testRepository();
    await repository.commit({ [FILE]: FILES['apps/web.yaml'] });
    await repository.git('rm', '-rq', 'desired-state');
    await repository.git('commit', '-qm', 'All gone\n\nAllow-Empty: true');
    const manager = await startManager({ repository });
    expect((await manager.get('/api/v2/apps')).body).toEqual({ apps: [] });
    expect((await manager.get('/readyz')).status).toBe(200);
  });

  it('serves nothing if STRICT refuses the first revision', async () => {
    const files = { ...FILES, 'apps/bad.yaml': 'running: maybe\n' };
    const manager = await startManager({ files, settings: { STRICT: 'true' } });
    await expectNothingServed(manager, /STRICT refuses it as a whole/);
  });
});

describe('a manager whose folder is in no git repository', () => {
  it('refuses to start if its store has a revision: the repository was removed', async () => {
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

  it('creates a repository on its first start, with all files of the folder in its first commit', async () => {
    const folder = await temporaryFolder();
    const files = { 'apps/web.yaml': 'container_image: nginx:1\n', 'README.md': 'x\n' };
    await writeFiles(folder, files);
    const manager = await startManager({ settings: { DESIRED_STATE: folder } });
    expect(manager.log.map(({ msg }) => msg)).toContain(
      'the folder was not in a git repository: created one, with a first commit',
    );
    const { git, show } = repositoryAt(folder);
    expect(await git('rev-list', '--count', 'HEAD')).toBe('1');
    expect(await git('status', '--porcelain')).toBe('');
    for (const [path, text] of Object.entries(files)) {
      expect(await show(path), path).toBe(text);
      expect(await readFile(join(folder, path), 'utf8'), path).toBe(text);
    }
    expect((await manager.get('/api/v2/apps')).body).toEqual({ apps: ['web'] });
    expect((await manager.post(`${WEB}/stop`)).status).toBe(202);
  });
});
