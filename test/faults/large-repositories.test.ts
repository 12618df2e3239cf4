import { spawn } from 'node:child_process';
import { createHash } from 'node:crypto';
import { once } from 'node:events';
import { mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { deflateSync } from 'node:zlib';
import { describe, expect, it } from 'vitest';
import type { TestRepository } from '../support/git.ts';
import { type Plumbing, plumbingOf, type RawEntry } from '../support/plumbing.ts';
import { startProcessManager } from '../support/process-manager.ts';
import { newFleet, WEB } from './small-fleet.ts';

/** Commits files without a work tree, which allows very many and very large ones. */
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

/** Files of which one in fifty is an app, and one in fifty an unexpected file among the apps. */
function* manyFiles(count: number): Iterable<readonly [string, string]> {
  for (let i = 0; i < count; i++) {
    yield [`elsewhere/${i % 1000}/file-${i}.txt`, `${i}\n`];
    if (i % 50 === 0) yield [`desired-state/apps/many/app-${i}.yaml`, `container_image: many:${i}\n`];
    if (i % 50 === 1) yield [`desired-state/apps/many/notes-${i}.txt`, 'not read\n'];
  }
}

/** Writes an object as git stores it: a process for each of 20,000 objects would take minutes. */
function writeObject(folder: string, type: string, content: Buffer): string {
  const bytes = Buffer.concat([Buffer.from(`${type} ${content.length}\0`), content]);
  const id = createHash('sha1').update(bytes).digest('hex');
  mkdirSync(join(folder, '.git/objects', id.slice(0, 2)), { recursive: true });
  writeFileSync(join(folder, '.git/objects', id.slice(0, 2), id.slice(2)), deflateSync(bytes, { level: 1 }));
  return id;
}

/** Writes folders within one another with a file in the innermost; returns the id of the outermost. */
function deepTree(folder: string, levels: number): string {
  const entry = (mode: string, name: string, id: string): Buffer =>
    Buffer.concat([Buffer.from(`${mode} ${name}\0`), Buffer.from(id, 'hex')]);
  const blob = writeObject(folder, 'blob', Buffer.from('container_image: abyss:1\n'));
  let tree = writeObject(folder, 'tree', entry('100644', 'abyss.yaml', blob));
  for (let level = 0; level < levels; level++) tree = writeObject(folder, 'tree', entry('40000', 'd', tree));
  return tree;
}

describe('a commit with 20,000 folders within one another', () => {
  it('may make git crash, but not the manager, which serves what it can read', async () => {
    const fleet = await newFleet();
    const { repository } = fleet;
    const manager = await startProcessManager(fleet);
    const git = plumbingOf(repository);
    const apps = [
      ...git.entriesOf('main:desired-state/apps'),
      { mode: '40000', name: 'deep', id: deepTree(repository.folder, 20_000) },
    ].sort((a, b) => (a.name < b.name ? -1 : 1));
    const groups = git.entriesOf('main:desired-state').filter(({ name }) => name !== 'apps');
    const state = git.tree([{ mode: '40000', name: 'apps', id: git.tree(apps) }, ...groups]);
    const head = git.publish(git.tree([{ mode: '40000', name: 'desired-state', id: state }]));
    const { body } = await manager.request('POST', '/api/v2/reconcile');
    // Newer versions of git refuse to list such a tree; then the revision before stays applied.
    const isRead = body.error === null;
    expect(body.revision_applied).toBe(isRead ? head : await repository.git('rev-parse', 'main^'));
    const { apps: served } = (await manager.request('GET', '/api/v2/apps')).body;
    expect(served).toEqual(isRead ? ['abyss', 'cron', 'web'] : ['cron', 'web']);
    const write = await manager.request('PUT', `${WEB}/update`, { privileged: true });
    expect([202, 409, 503]).toContain(write.status);
    expect((await manager.request('GET', WEB)).body.privileged).toBe(write.status === 202);
    await manager.kill();
    const next = await startProcessManager(fleet);
    expect((await next.request('GET', '/api/v2/device_groups/edge/info')).status).toBe(200);
    await next.stop();
  });
});

/** Writes a folder of `width ** levels` files as one object for each level; returns its id. */
function bombTree(git: Plumbing, width: number, levels: number): string {
  const names = Array.from({ length: width }, (_, index) => `d${index}`);
  let [mode, id] = ['100644', git.blob('container_image: bomb:1\n')];
  for (let level = 0; level < levels; level++)
    [mode, id] = ['40000', git.tree(names.map((name) => ({ mode, name, id })))];
  return id;
}

describe('a commit of a few kilobytes with ten billion files', () => {
  it('counts as unreadable: the last good state is served until the branch moves to another commit', async () => {
    const fleet = await newFleet();
    const { repository } = fleet;
    const manager = await startProcessManager(fleet);
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

describe('a large repository', () => {
  it('with 100,000 files can be served and written, and a manager can start on it again', async () => {
    const fleet = await newFleet();
    await importFiles(fleet.repository, manyFiles(100_000));
    const manager = await startProcessManager(fleet);
    await manager.request('POST', '/api/v2/reconcile');
    expect((await manager.request('GET', '/api/v2/apps')).body.apps).toHaveLength(2002);
    expect((await manager.request('PUT', `${WEB}/update`, { privileged: true })).status).toBe(202);
    expect((await manager.request('DELETE', '/api/v2/apps/app-0')).status).toBe(200);
    await manager.stop();
    const next = await startProcessManager(fleet);
    expect((await next.request('GET', WEB)).body.privileged).toBe(true);
    const status = await next.request('POST', '/api/v2/reconcile');
    expect(status.body.problems).toHaveLength(2000);
    await next.stop();
  });

  it('with files of 50 MB reports them as problems, and can be written', async () => {
    const fleet = await newFleet();
    const size = 50 * 1024 * 1024;
    await importFiles(fleet.repository, [
      ['desired-state/apps/huge.yaml', Buffer.alloc(size, '# a comment without end\n')],
      ['desired-state/huge.bin', Buffer.alloc(size, 1)],
    ]);
    const manager = await startProcessManager(fleet);
    const { body } = await manager.request('POST', '/api/v2/reconcile');
    const problems = body.problems.map(({ file, code }: Record<string, string>) => `${file} ${code}`);
    expect(problems).toEqual(['apps/huge.yaml file-too-large', 'huge.bin file-unexpected']);
    expect(body.problems[0].message).toContain(String(size));
    expect((await manager.request('PUT', `${WEB}/update`, { privileged: true })).status).toBe(202);
    await manager.stop();
  });
});
