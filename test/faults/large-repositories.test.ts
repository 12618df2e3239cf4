import { spawn } from 'node:child_process';
import { createHash } from 'node:crypto';
import { once } from 'node:events';
import { mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { deflateSync } from 'node:zlib';
import { describe, expect, it } from 'vitest';
import { inDesiredState, temporaryFolder } from '../support/folder.ts';
import { type TestRepository, testRepository } from '../support/git.ts';
import { SMALL_FLEET } from '../support/manager.ts';
import { type Plumbing, plumbingOf, type RawEntry } from '../support/plumbing.ts';
import { startProcessManager } from '../support/process-manager.ts';

/** Commits files without a work tree, as many and as large as a push can bring. */
async function importFiles(
  { folder }: TestRepository,
  files: Iterable<readonly [path: string, content: string | Buffer]>,
): Promise<void> {
  const child = spawn('git', ['fast-import', '--quiet', '--force'], {
    cwd: folder,
    stdio: ['pipe', 'inherit', 'inherit'],
  });
  const write = async (text: string | Buffer): Promise<void> => {
    if (!child.stdin.write(text)) await once(child.stdin, 'drain');
  };
  await write('commit refs/heads/main\ncommitter Pat <pat@example.com> 1700000000 +0000\ndata 4\nlots\n');
  await write('from refs/heads/main^0\n');
  for (const [path, content] of files) {
    await write(`M 100644 inline ${path}\ndata ${Buffer.byteLength(content)}\n`);
    await write(content);
    await write('\n');
  }
  child.stdin.end();
  const [code] = await once(child, 'close');
  expect(code).toBe(0);
}

async function place() {
  const repository = await testRepository();
  await repository.commit(inDesiredState(SMALL_FLEET));
  return { repository, dataFolder: join(await temporaryFolder(), 'data') };
}

function* manyFiles(count: number): Iterable<readonly [string, string]> {
  for (let i = 0; i < count; i++) {
    yield [`elsewhere/${i % 1000}/file-${i}.txt`, `${i}\n`];
    if (i % 50 === 0) yield [`desired-state/apps/many/app-${i}.yaml`, `container_image: many:${i}\n`];
    if (i % 50 === 1) yield [`desired-state/apps/many/notes-${i}.txt`, 'not read\n'];
  }
}

/** Writes an object as git keeps it; a process for each of 20,000 would take minutes. */
function writeObject(folder: string, type: string, content: Buffer): string {
  const bytes = Buffer.concat([Buffer.from(`${type} ${content.length}\0`), content]);
  const id = createHash('sha1').update(bytes).digest('hex');
  mkdirSync(join(folder, '.git/objects', id.slice(0, 2)), { recursive: true });
  writeFileSync(join(folder, '.git/objects', id.slice(0, 2), id.slice(2)), deflateSync(bytes, { level: 1 }));
  return id;
}

function deepTree(folder: string, levels: number): string {
  const entry = (mode: string, name: string, id: string): Buffer =>
    Buffer.concat([Buffer.from(`${mode} ${name}\0`), Buffer.from(id, 'hex')]);
  const blob = writeObject(folder, 'blob', Buffer.from('container_image: abyss:1\n'));
  let tree = writeObject(folder, 'tree', entry('100644', 'abyss.yaml', blob));
  for (let level = 0; level < levels; level++) tree = writeObject(folder, 'tree', entry('40000', 'd', tree));
  return tree;
}

describe('a repository that is deep', () => {
  it('by 20,000 folders, of which git dies: the manager does not, and serves what it can read', async () => {
    const where = await place();
    const { repository } = where;
    const manager = await startProcessManager(where);
    const git = plumbingOf(repository);
    const apps = [
      ...git.entriesOf('main:desired-state/apps'),
      { mode: '40000', name: 'deep', id: deepTree(repository.folder, 20_000) },
    ].sort((a, b) => (a.name < b.name ? -1 : 1));
    const groups = git.entriesOf('main:desired-state').filter(({ name }) => name !== 'apps');
    const state = git.tree([{ mode: '40000', name: 'apps', id: git.tree(apps) }, ...groups]);
    const head = git.publish(git.tree([{ mode: '40000', name: 'desired-state', id: state }]));
    const { body } = await manager.request('POST', '/api/v2/reconcile');
    // Newer versions of git refuse to list what is so deep; then all stays as it was.
    const isRead = body.error === null;
    expect(body.revision_applied).toBe(isRead ? head : await repository.git('rev-parse', 'main^'));
    const { apps: served } = (await manager.request('GET', '/api/v2/apps')).body;
    expect(served).toEqual(isRead ? ['abyss', 'cron', 'web'] : ['cron', 'web']);
    const write = await manager.request('PUT', '/api/v2/apps/web/update', { privileged: true });
    expect([202, 409, 503]).toContain(write.status);
    expect((await manager.request('GET', '/api/v2/apps/web')).body.privileged).toBe(write.status === 202);
    await manager.kill();
    const next = await startProcessManager(where);
    expect((await next.request('GET', '/api/v2/device_groups/edge/info')).status).toBe(200);
    await next.stop();
  });
});

/** A folder of `width ** levels` files, made of as many objects as there are levels. */
function bombTree(git: Plumbing, width: number, levels: number): string {
  const names = Array.from({ length: width }, (_, index) => `d${index}`);
  let [mode, id] = ['100644', git.blob('container_image: bomb:1\n')];
  for (let level = 0; level < levels; level++)
    [mode, id] = ['40000', git.tree(names.map((name) => ({ mode, name, id })))];
  return id;
}

describe('a commit of a few kilobytes that has ten billion files', () => {
  it('does not eat the memory: what was good is served, and the next commit mends it', async () => {
    const where = await place();
    const { repository } = where;
    const manager = await startProcessManager(where);
    await manager.request('POST', '/api/v2/reconcile');
    const good = await repository.git('rev-parse', 'main');
    const git = plumbingOf(repository);
    const state = git.entriesOf('main:desired-state');
    const bomb = { mode: '40000', name: 'bomb', id: bombTree(git, 10, 10) };
    const tree = git.tree([state[0] as RawEntry, bomb, ...state.slice(1)]);
    git.publish(git.tree([{ mode: '40000', name: 'desired-state', id: tree }]));
    await expect
      .poll(async () => (await manager.request('GET', '/api/v2/reconcile')).body.error?.message, {
        timeout: 120_000,
        interval: 500,
      })
      .toContain('could not read the repository');
    expect((await manager.request('GET', '/api/v2/device_groups/edge/info')).status).toBe(200);
    await repository.git('update-ref', 'refs/heads/main', good);
    await expect
      .poll(async () => (await manager.request('GET', '/api/v2/reconcile')).body.error, {
        timeout: 120_000,
        interval: 500,
      })
      .toBeNull();
    await manager.stop();
  });
});

describe('a repository that is large', () => {
  it('with 100,000 files: is served, changed, and started again', async () => {
    const where = await place();
    await importFiles(where.repository, manyFiles(100_000));
    const manager = await startProcessManager(where);
    await manager.request('POST', '/api/v2/reconcile');
    expect((await manager.request('GET', '/api/v2/apps')).body.apps).toHaveLength(2002);
    expect((await manager.request('PUT', '/api/v2/apps/web/update', { privileged: true })).status).toBe(202);
    expect((await manager.request('DELETE', '/api/v2/apps/app-0')).status).toBe(200);
    await manager.stop();
    const next = await startProcessManager(where);
    expect((await next.request('GET', '/api/v2/apps/web')).body.privileged).toBe(true);
    const status = await next.request('POST', '/api/v2/reconcile');
    expect(status.body.problems).toHaveLength(2000);
    await next.stop();
  });

  it('with a file of 50 MB: a problem of that file, and it is never read', async () => {
    const where = await place();
    const size = 50 * 1024 * 1024;
    await importFiles(where.repository, [
      ['desired-state/apps/huge.yaml', Buffer.alloc(size, '# a comment without end\n')],
      ['desired-state/huge.bin', Buffer.alloc(size, 1)],
    ]);
    const manager = await startProcessManager(where);
    const { body } = await manager.request('POST', '/api/v2/reconcile');
    const told = body.problems.map(({ file, code }: Record<string, string>) => `${file} ${code}`);
    expect(told).toEqual(['apps/huge.yaml file-too-large', 'huge.bin file-unexpected']);
    expect(body.problems[0].message).toContain(String(size));
    expect((await manager.request('PUT', '/api/v2/apps/web/update', { privileged: true })).status).toBe(202);
    await manager.stop();
  });
});
