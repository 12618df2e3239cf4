import { execFileSync } from 'node:child_process';
import { chmod, mkdir, readdir, readFile, rm, stat, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { inDesiredState, temporaryFolder } from '../support/folder.ts';
import { repositoryAt, type TestRepository, testRepository } from '../support/git.ts';
import { expectIntact } from '../support/intact.ts';
import { SMALL_FLEET } from '../support/manager.ts';
import {
  type ProcessManager,
  spawnManager,
  startProcessManager,
  tryStart,
} from '../support/process-manager.ts';
import { WAYS } from './full-disk.ts';

const FLEET = inDesiredState(SMALL_FLEET);
const WEB = '/api/v2/apps/web';

async function place() {
  const repository = await testRepository();
  await repository.commit(FLEET);
  return { repository, dataFolder: join(await temporaryFolder(), 'data') };
}

describe('two managers on one data folder', () => {
  it('the second refuses to start, and names the first; the first goes on', async () => {
    const first = await place();
    const manager = await startProcessManager(first);
    const other = await testRepository();
    const second = spawnManager({ repository: other, dataFolder: first.dataFolder });
    expect(await second.ended).toBe(3);
    const { pid } = manager.process.child;
    expect(second.output()).toContain(`in use by another manager (process ${pid}, since 20`);
    expect(second.output()).toContain(`, at ${manager.address})`);
    expect((await manager.request('POST', `${WEB}/stop`)).status).toBe(202);
    expect(await manager.stop()).toBe(0);
  });

  it('the lock of a dead one does not stop the next', async () => {
    const where = await place();
    await (await startProcessManager(where)).kill();
    const next = await startProcessManager(where);
    expect((await next.request('POST', `${WEB}/stop`)).status).toBe(202);
    await next.stop();
    const last = await startProcessManager(where);
    expect((await last.request('GET', WEB)).body.running).toBe(false);
    await last.stop();
  });
});

/** Every answer that said yes; what it said must stay. */
async function changeWeb(manager: ProcessManager, image: string): Promise<{ status: number; text: string }> {
  return manager.request('PUT', `${WEB}/update`, { container_image: image });
}

/** Writes until one is refused; resolves to the image that was answered last. */
async function changeUntilRefused(manager: ProcessManager, before: string): Promise<string> {
  let answered = before;
  for (let count = 0; count < 2000; count++) {
    const reply = await changeWeb(manager, `full:${count}`);
    if (reply.status !== 202) {
      expect(reply.status, reply.text).toBe(503);
      expect(reply.text).not.toContain('/tmp');
      return answered;
    }
    answered = `full:${count}`;
  }
  throw new Error('the disk never became full');
}

describe.each(WAYS)('a full disk ($name)', ({ isPossible, make }) => {
  it.skipIf(!isPossible)(
    'of the store: writes are 503, reads go on, nothing is lost, and it heals',
    async () => {
      const disk = await make();
      const repository = await testRepository();
      await repository.commit(FLEET);
      const where = { repository, dataFolder: join(disk.folder, 'data') };
      const manager = await startProcessManager(where);
      const pid = manager.process.child.pid as number;
      expect((await changeWeb(manager, 'before:1')).status).toBe(202);
      disk.fill(pid);
      const answered = await changeUntilRefused(manager, 'before:1');
      expect((await manager.request('GET', WEB)).body.container_image).toBe(answered);
      expect((await manager.request('GET', '/api/v2/device_groups/edge/info')).status).toBe(200);
      expect((await manager.request('POST', `${WEB}/restart`)).status).toBe(503);
      const { app_id: id } = (await manager.request('GET', WEB)).body;
      disk.free(pid);
      await manager.request('POST', '/api/v2/reconcile');
      const healed = (await manager.request('GET', WEB)).body;
      const atHead = /container_image: (\S+)/.exec(await repository.show('desired-state/apps/web.yaml'))?.[1];
      expect(healed.container_image).toBe(atHead);
      expect(healed.app_id).toBe(atHead === answered ? id : id + 1);
      expect((await changeWeb(manager, 'after:1')).status).toBe(202);
      expect(await manager.stop()).toBe(0);
      const next = await startProcessManager(where);
      expect((await next.request('GET', WEB)).body).toMatchObject({
        container_image: 'after:1',
        app_id: healed.app_id + 1,
      });
      await next.stop();
    },
  );

  it.skipIf(!isPossible)(
    'of the repository: writes are 503, reads go on, nothing is half written, and it heals',
    async () => {
      const disk = await make();
      const repository = repositoryAt(disk.folder);
      await repository.git('init', '--quiet', '--initial-branch=main');
      await repository.commit(FLEET);
      const where = { repository, dataFolder: join(await temporaryFolder(), 'data') };
      const manager = await startProcessManager(where);
      const pid = manager.process.child.pid as number;
      expect((await changeWeb(manager, 'before:1')).status).toBe(202);
      disk.fill(pid);
      const answered = await changeUntilRefused(manager, 'before:1');
      expect((await manager.request('GET', WEB)).body.container_image).toBe(answered);
      disk.free(pid);
      expect((await changeWeb(manager, 'after:1')).status).toBe(202);
      expect(await repository.git('status', '--porcelain')).toBe('');
      expect(await repository.show('desired-state/apps/web.yaml')).toContain('after:1');
      await expectIntact(repository.folder);
      await manager.stop();
    },
  );
});

/** Somebody whom modes of files hold back; whoever runs the tests, unless that is root. */
const NOBODY = process.getuid?.() === 0 ? { uid: 65534, gid: 65534 } : undefined;

function giveAway(...folders: string[]): void {
  if (NOBODY !== undefined) execFileSync('chown', ['-R', `${NOBODY.uid}:${NOBODY.gid}`, ...folders]);
}

async function ownPlace() {
  const { repository } = await place();
  const top = await temporaryFolder();
  giveAway(repository.folder, top);
  const where = { repository, dataFolder: join(top, 'data'), ...(NOBODY && { user: NOBODY }) };
  return { repository, where };
}

/** Runs git in a repository that may be somebody else's. */
function foreign({ folder }: TestRepository): TestRepository['git'] {
  const { git } = repositoryAt(folder);
  return (...args) => git('-c', 'safe.directory=*', ...args);
}

describe('a read-only folder', () => {
  it('of data: the manager says so and does not start, and changes nothing', async () => {
    const { where } = await ownPlace();
    await (await startProcessManager(where)).stop();
    const files = await readdir(where.dataFolder);
    for (const file of files) await chmod(join(where.dataFolder, file), 0o400);
    await chmod(where.dataFolder, 0o500);
    const refused = spawnManager(where);
    expect(await refused.ended).toBe(3);
    expect(refused.output()).toMatch(/DATA_DIR cannot be used|cannot be opened|read-only/);
    expect(await readdir(where.dataFolder)).toEqual(files);
    for (const file of files) await chmod(join(where.dataFolder, file), 0o600);
    await chmod(where.dataFolder, 0o700);
    const manager = await startProcessManager(where);
    expect((await manager.request('GET', WEB)).status).toBe(200);
    await manager.stop();
  });

  it.each([
    ['of objects', '.git/objects/pack', 'git could not publish the commit'],
    ['of the branch', '.git/refs/heads', 'git could not publish the commit'],
    ['of the git folder', '.git', 'git could not publish the commit'],
    ['of the files', 'desired-state/apps', 'git could not write apps/web.yaml in the checkout'],
  ])('%s: a write is refused, nothing is half written, and it heals', async (_name, folder, what) => {
    const { repository, where } = await ownPlace();
    const git = foreign(repository);
    const manager = await startProcessManager(where);
    const head = await git('rev-parse', 'HEAD');
    const path = join(repository.folder, folder);
    await chmod(path, 0o500);
    const reply = await changeWeb(manager, 'refused:1');
    expect(reply.status, reply.text).toBe(503);
    expect(reply.text).toContain(`${what}: the user of the manager may not write there; check owner`);
    expect(await git('rev-parse', 'HEAD')).toBe(head);
    expect(await readFile(join(repository.folder, 'desired-state/apps/web.yaml'), 'utf8')).toBe(
      SMALL_FLEET['apps/web.yaml'],
    );
    expect((await manager.request('GET', WEB)).body.container_image).toBe('nginx:1.26');
    await chmod(path, 0o755);
    expect(await git('status', '--porcelain')).toBe('');
    expect((await changeWeb(manager, 'healed:1')).status).toBe(202);
    expect(await git('status', '--porcelain')).toBe('');
    await manager.stop();
  });

  it('of objects: the record of ids says why it is not written, and heals', async () => {
    const { repository, where } = await ownPlace();
    const manager = await startProcessManager(where);
    const problem = async () => (await manager.request('GET', '/api/v2/reconcile')).body.ids_record.problem;
    const path = join(repository.folder, '.git/objects/pack');
    await chmod(path, 0o500);
    expect((await manager.request('POST', `${WEB}/restart`)).status).toBe(202);
    await expect.poll(problem, { timeout: 60_000 }).toMatchObject({
      message: expect.stringContaining('may not write there; check owner and permissions'),
    });
    await chmod(path, 0o755);
    await manager.request('POST', `${WEB}/restart`);
    await expect.poll(problem, { timeout: 60_000 }).toBeNull();
    await manager.stop();
  });
});

describe('a file of the checkout that may not be read', () => {
  it.each([
    ['itself', 'desired-state/apps/web.yaml', 0o644],
    ['for its folder', 'desired-state/apps', 0o755],
  ])('%s: a write to it says that, and not that somebody has changed it; it heals', async (_, name, mode) => {
    const { repository, where } = await ownPlace();
    const manager = await startProcessManager(where);
    const path = join(repository.folder, name);
    await chmod(path, 0);
    const reply = await changeWeb(manager, 'refused:1');
    expect(reply.status, reply.text).toBe(503);
    expect(reply.text).toContain("apps/web.yaml: the checkout's file cannot be read");
    expect(reply.text).toContain('may not read it (EACCES); check owner and permissions');
    await chmod(path, mode);
    expect((await changeWeb(manager, 'healed:1')).status).toBe(202);
    expect(await foreign(repository)('status', '--porcelain')).toBe('');
    await manager.stop();
  });
});

describe('a part of the repository that may not be read', () => {
  it.each([
    ['the branch', '.git/refs/heads/main'],
    ['the folder of branches', '.git/refs/heads'],
    ['HEAD', '.git/HEAD'],
    ['the git folder', '.git'],
    ['the work tree', '.'],
  ])('%s: is no branch without a commit; status says why, and it heals', async (_name, part) => {
    const { repository, where } = await ownPlace();
    const path = join(repository.folder, part);
    const { mode } = await stat(path);
    const manager = await startProcessManager(where);
    await chmod(path, 0);
    const { body } = await manager.request('POST', '/api/v2/reconcile');
    expect(body).toMatchObject({ state: 'failing', error: { kind: 'unavailable' } });
    expect(body.error.message).toContain('the user of the manager may not read it');
    expect((await changeWeb(manager, 'refused:1')).status).toBe(503);
    expect((await manager.request('GET', '/api/v2/device_groups/edge/info')).status).toBe(200);
    await chmod(path, mode);
    expect((await changeWeb(manager, 'healed:1')).status).toBe(202);
    expect((await manager.request('POST', '/api/v2/reconcile')).body.state).toBe('applied');
    expect(await manager.stop()).toBe(0);
  });

  it('the rebase of another user: its commits are not served', async () => {
    const { repository, where } = await ownPlace();
    const manager = await startProcessManager(where);
    const git = foreign(repository);
    const tip = await git('rev-parse', 'HEAD');
    const rebase = join(repository.folder, '.git/rebase-merge');
    await mkdir(rebase);
    await writeFile(join(rebase, 'head-name'), 'refs/heads/main\n');
    await chmod(rebase, 0);
    giveAway(rebase);
    const way = await git('commit-tree', 'HEAD^{tree}', '-p', 'HEAD', '-m', 'half way');
    await git('update-ref', '--no-deref', 'HEAD', way);
    const { body } = await manager.request('POST', '/api/v2/reconcile');
    expect(body).toMatchObject({ state: 'failing', revision_applied: tip });
    expect(body.error.message).toContain('may not read it');
    await git('symbolic-ref', 'HEAD', 'refs/heads/main');
    await rm(rebase, { recursive: true });
    expect((await manager.request('POST', '/api/v2/reconcile')).body.state).toBe('applied');
    await manager.stop();
  });

  it('the branch, at a first start: nothing is served, and no commit is made beside what is there', async () => {
    const { repository, where } = await ownPlace();
    const path = join(repository.folder, '.git/refs/heads/main');
    const tip = await readFile(path, 'utf8');
    await chmod(path, 0);
    const manager = await tryStart(where);
    await manager?.request('POST', '/api/v2/reconcile');
    const created = await manager?.request('POST', '/api/v2/apps/new', { container_image: 'new:1' });
    expect([created?.status, created?.text]).toEqual([503, expect.stringContaining('may not read it')]);
    expect((await manager?.request('GET', '/api/v2/device_groups/edge/info'))?.status).toBe(503);
    await chmod(path, 0o644);
    expect(await readFile(path, 'utf8')).toBe(tip);
    await manager?.request('POST', '/api/v2/reconcile');
    expect((await manager?.request('GET', WEB))?.body.container_image).toBe('nginx:1.26');
    await manager?.stop();
  });
});
