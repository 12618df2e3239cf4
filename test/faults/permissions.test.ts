import { execFileSync } from 'node:child_process';
import { chmod, mkdir, readdir, readFile, rm, stat, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { temporaryFolder } from '../support/folder.ts';
import { repositoryAt, type TestRepository } from '../support/git.ts';
import { SMALL_FLEET } from '../support/manager.ts';
import { spawnManager, startProcessManager, tryStart } from '../support/process-manager.ts';
import { changeWeb, newFleet, WEB } from './small-fleet.ts';

/** The user who runs the manager: root ignores the modes of files, so root's tests take another one. */
const USER = process.getuid?.() === 0 ? { uid: 65534, gid: 65534 } : undefined;

const NO_PERMISSION = 'the user of the manager has no right to do that; check owner';

/** Makes `USER` the owner of folders and of everything in them. */
function giveToUser(...folders: string[]): void {
  if (USER !== undefined) execFileSync('chown', ['-R', `${USER.uid}:${USER.gid}`, ...folders]);
}

/** A fleet whose repository and data folder belong to `USER`; `options` run a manager as that user. */
async function fleetOfUser() {
  const { repository } = await newFleet();
  const top = await temporaryFolder();
  giveToUser(repository.folder, top);
  const options = { repository, dataFolder: join(top, 'data'), ...(USER && { user: USER }) };
  return { repository, options };
}

/** Runs git in a repository that may belong to another user. */
function gitIn({ folder }: TestRepository): TestRepository['git'] {
  const { git } = repositoryAt(folder);
  return (...args) => git('-c', 'safe.directory=*', ...args);
}

describe('a folder that becomes read-only', () => {
  it('keeps a manager from starting if it is the data folder, and is not changed', async () => {
    const { options } = await fleetOfUser();
    await (await startProcessManager(options)).stop();
    const files = await readdir(options.dataFolder);
    for (const file of files) await chmod(join(options.dataFolder, file), 0o400);
    await chmod(options.dataFolder, 0o500);
    const refused = spawnManager(options);
    expect(await refused.ended).toBe(3);
    expect(refused.output()).toMatch(/DATA_DIR cannot be used|cannot be opened|read-only/);
    expect(await readdir(options.dataFolder)).toEqual(files);
    for (const file of files) await chmod(join(options.dataFolder, file), 0o700);
    await chmod(options.dataFolder, 0o700);
    const manager = await startProcessManager(options);
    expect((await manager.request('GET', WEB)).status).toBe(200);
    await manager.stop();
  });

  it.each([
    [
      'the folder of objects',
      '.git/objects',
      'git could not publish the commit: remote unpack failed: unable to create temporary object directory',
    ],
    ['the folder of branches', '.git/refs/heads', `git could not publish the commit: ${NO_PERMISSION}`],
    ['the git folder', '.git', `git could not publish the commit: ${NO_PERMISSION}`],
    [
      'a folder of files',
      'desired-state/apps',
      `git could not write desired-state/apps/web.yaml in the checkout: ${NO_PERMISSION}`,
    ],
  ])(
    'refuses writes with 503 until it is writable again, and leaves none half done: %s',
    async (_, folder, message) => {
      const { repository, options } = await fleetOfUser();
      const git = gitIn(repository);
      const manager = await startProcessManager(options);
      const head = await git('rev-parse', 'HEAD');
      const path = join(repository.folder, folder);
      await chmod(path, 0o500);
      const reply = await changeWeb(manager, 'refused:1');
      expect(reply.status, reply.text).toBe(503);
      expect(reply.text).toContain(message);
      expect(await git('rev-parse', 'HEAD')).toBe(head);
      expect(await readFile(join(repository.folder, 'desired-state/apps/web.yaml'), 'utf8')).toBe(
        SMALL_FLEET['apps/web.yaml'],
      );
      expect((await manager.request('GET', WEB)).body.container_image).toBe('nginx:1.26');
      await chmod(path, 0o755);
      expect(await git('status', '--porcelain')).toBe('');
      expect((await changeWeb(manager, 'recovered:1')).status).toBe(202);
      expect(await git('status', '--porcelain')).toBe('');
      await manager.stop();
    },
  );

  it('makes the status say why ids are not recorded if it is the folder of packs, until it is writable again', async () => {
    const { repository, options } = await fleetOfUser();
    const manager = await startProcessManager(options);
    const problem = async () => (await manager.request('GET', '/api/v2/reconcile')).body.ids_record.problem;
    const path = join(repository.folder, '.git/objects/pack');
    await chmod(path, 0o500);
    expect((await manager.request('POST', `${WEB}/restart`)).status).toBe(202);
    await expect.poll(problem, { timeout: 60_000 }).toMatchObject({
      message: expect.stringContaining(NO_PERMISSION),
    });
    await chmod(path, 0o755);
    await manager.request('POST', `${WEB}/restart`);
    await expect.poll(problem, { timeout: 60_000 }).toBeNull();
    await manager.stop();
  });
});

describe('a file of the checkout that the manager may not read', () => {
  it.each([
    ['the file itself', 'desired-state/apps/web.yaml', 0o644],
    ['its folder', 'desired-state/apps', 0o755],
  ])(
    'refuses writes, as git does of uncommitted work, until it can be read (mode of %s)',
    async (_, name, mode) => {
      const { repository, options } = await fleetOfUser();
      const manager = await startProcessManager(options);
      const path = join(repository.folder, name);
      await chmod(path, 0);
      const reply = await changeWeb(manager, 'refused:1');
      expect(reply.status, reply.text).toBe(409);
      expect(reply.text).toContain('apps/web.yaml');
      await chmod(path, mode);
      expect((await changeWeb(manager, 'recovered:1')).status).toBe(202);
      expect(await gitIn(repository)('status', '--porcelain')).toBe('');
      await manager.stop();
    },
  );
});

describe('a part of the repository that the manager may not read', () => {
  it.each([
    ['the branch', '.git/refs/heads/main'],
    ['the folder of branches', '.git/refs/heads'],
    ['HEAD', '.git/HEAD'],
    ['the git folder', '.git'],
    ['the work tree', '.'],
  ])(
    'fails passes and refuses writes until it can be read, while /info serves the last good reply: %s',
    async (_, part) => {
      const { repository, options } = await fleetOfUser();
      const path = join(repository.folder, part);
      const { mode } = await stat(path);
      const manager = await startProcessManager(options);
      await chmod(path, 0);
      const { body } = await manager.request('POST', '/api/v2/reconcile');
      expect(body).toMatchObject({ state: 'failing', error: { kind: 'unavailable' } });
      expect(body.error.message).toContain(NO_PERMISSION);
      expect((await changeWeb(manager, 'refused:1')).status).toBe(503);
      expect((await manager.request('GET', '/api/v2/device_groups/edge/info')).status).toBe(200);
      await chmod(path, mode);
      expect((await changeWeb(manager, 'recovered:1')).status).toBe(202);
      expect((await manager.request('POST', '/api/v2/reconcile')).body.state).toBe('applied');
      expect(await manager.stop()).toBe(0);
    },
  );

  it('keeps the commits of a rebase from being served if it is the state of that rebase', async () => {
    const { repository, options } = await fleetOfUser();
    const manager = await startProcessManager(options);
    const git = gitIn(repository);
    const tip = await git('rev-parse', 'HEAD');
    const rebase = join(repository.folder, '.git/rebase-merge');
    await mkdir(rebase);
    await writeFile(join(rebase, 'head-name'), 'refs/heads/main\n');
    await chmod(rebase, 0);
    giveToUser(rebase);
    const commit = await git('commit-tree', 'HEAD^{tree}', '-p', 'HEAD', '-m', 'half way');
    await git('update-ref', '--no-deref', 'HEAD', commit);
    const { body } = await manager.request('POST', '/api/v2/reconcile');
    expect(body).toMatchObject({ state: 'failing', revision_applied: tip });
    expect(body.error.message).toContain(NO_PERMISSION);
    await git('symbolic-ref', 'HEAD', 'refs/heads/main');
    await rm(rebase, { recursive: true });
    expect((await manager.request('POST', '/api/v2/reconcile')).body.state).toBe('applied');
    await manager.stop();
  });

  it('keeps a first start from serving anything, and from committing over the branch, if it is the branch', async () => {
    const { repository, options } = await fleetOfUser();
    const path = join(repository.folder, '.git/refs/heads/main');
    const tip = await readFile(path, 'utf8');
    await chmod(path, 0);
    const manager = await tryStart(options);
    await manager?.request('POST', '/api/v2/reconcile');
    const created = await manager?.request('POST', '/api/v2/apps/new', { container_image: 'new:1' });
    expect([created?.status, created?.text]).toEqual([503, expect.stringContaining(NO_PERMISSION)]);
    expect((await manager?.request('GET', '/api/v2/device_groups/edge/info'))?.status).toBe(503);
    await chmod(path, 0o644);
    expect(await readFile(path, 'utf8')).toBe(tip);
    await manager?.request('POST', '/api/v2/reconcile');
    expect((await manager?.request('GET', WEB))?.body.container_image).toBe('nginx:1.26');
    await manager?.stop();
  });
});
