import { rm, symlink } from 'node:fs/promises';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { inDesiredState, writeFiles } from '../support/folder.ts';
import type { TestRepository } from '../support/git.ts';
import { SMALL_FLEET, startManager, type TestManager } from '../support/manager.ts';
import { managerState } from '../support/manager-state.ts';
import { appRecord, groupRecord, REASON } from './expected.ts';
import { type Problem, push } from './push.ts';

async function appNames(manager: TestManager): Promise<string[]> {
  return (await manager.get('/api/v2/apps')).body.apps.sort();
}

describe('docs/contract.md, 11.1: Where', () => {
  it('apps/**/<app_name>.yaml and device-groups/**/<device_group>.yaml below the folder; .yml too', async () => {
    const manager = await startManager({
      files: {
        'apps/web.yaml': 'container_image: web:1\n',
        'apps/shop/eu/api.yml': 'container_image: api:1\n',
        'apps/a.b_c-d.yaml': 'container_image: dotted:1\n',
        'device-groups/edge.yml': 'apps: [web, api]\n',
        'device-groups/north/lab/lab.yaml': 'apps: [a.b_c-d]\n',
      },
    });
    expect(await appNames(manager)).toEqual(['a.b_c-d', 'api', 'web']);
    expect((await manager.get('/api/v2/device_groups')).body.device_groups.sort()).toEqual(['edge', 'lab']);
    expect((await manager.get('/api/v2/device_groups/lab')).body).toEqual(groupRecord('lab', ['a.b_c-d']));
    expect((await manager.get('/api/v2/reconcile')).body.problems).toEqual([]);
  });

  it('below the folder: files outside of it are neither applied nor reported', async () => {
    const manager = await startManager({ files: SMALL_FLEET });
    const before = await managerState(manager);
    await manager.repository.commit({
      'apps/outside.yaml': 'container_image: a\n',
      'notes.txt': 'x\n',
      'apps/web.yaml': '[',
    });
    const { body } = await manager.reconcile();
    expect(body.problems).toEqual([]);
    const after = await managerState(manager);
    expect([after.apps, after.groups]).toEqual([before.apps, before.groups]);
  });

  it.each([
    ['in two sub-folders', 'apps/a/web.yaml', 'apps/b/web.yaml'],
    ['in a folder and its sub-folder', 'apps/web.yaml', 'apps/b/web.yaml'],
    ['with two extensions', 'apps/web.yaml', 'apps/web.yml'],
  ])(
    'names unique over sub-folders: two files of one app %s are problems, and the app stays as it was',
    async (_, one, other) => {
      const manager = await startManager({ files: { [one]: 'container_image: one:1\n' } });
      const { body: before } = await manager.get('/api/v2/apps/web');
      const { problemFiles } = await push(manager, {
        [other]: 'container_image: other:1\n',
        'apps/new.yaml': 'container_image: n\n',
      });
      expect(problemFiles).toEqual([one, other].sort());
      expect((await manager.get('/api/v2/apps/web')).body).toEqual(before);
      expect(await appNames(manager)).toEqual(['new', 'web']);
      expect((await push(manager, { [one]: null })).problems).toEqual([]);
      expect((await manager.get('/api/v2/apps/web')).body).toEqual({
        ...before,
        container_image: 'other:1',
        app_id: before.app_id + 1,
      });
    },
  );

  it('an app and a group may have the same name', async () => {
    const manager = await startManager({
      files: { 'apps/x.yaml': 'container_image: x\n', 'device-groups/x.yaml': 'apps: [x]\n' },
    });
    expect((await manager.get('/api/v2/device_groups/x')).body.apps).toEqual(['x']);
    expect((await manager.get('/api/v2/reconcile')).body.problems).toEqual([]);
  });
});

describe('docs/contract.md, 11.1: What', () => {
  it("an app's fields without app_name, app_id, _id; a group's apps: anything else is a problem", async () => {
    const manager = await startManager({ files: SMALL_FLEET });
    const { problems } = await push(manager, {
      'apps/one.yaml': 'app_name: one\ncontainer_image: a\n',
      'apps/two.yaml': 'container_image: a\napp_id: 7\n',
      'apps/three.yaml': 'container_image: a\n_id: {$oid: "x"}\n',
      'device-groups/four.yaml': 'apps: []\ndevice_group: four\n',
      'device-groups/five.yaml': 'apps: []\nprune_id: 7\n',
      'device-groups/six.yaml': '{}\n',
    });
    const found = problems.map(({ file, line }) => `${file}:${line}`).sort();
    expect(found).toEqual([
      'apps/one.yaml:1',
      'apps/three.yaml:2',
      'apps/two.yaml:2',
      'device-groups/five.yaml:2',
      'device-groups/four.yaml:2',
      'device-groups/six.yaml:1',
    ]);
    expect(await appNames(manager)).toEqual(['cron', 'web']);
  });

  it('each problem of a file is reported with file, line, column, code and message', async () => {
    const manager = await startManager({ files: SMALL_FLEET });
    const text = '# web\ncontainer_image: nginx:1.26\nrunning: "yes"\nstarting_ports:\n  - 80\n  - 70000\n';
    const { problems } = await push(manager, { 'apps/web.yaml': text });
    expect(problems).toHaveLength(2);
    for (const problem of problems)
      expect(problem).toMatchObject({
        file: 'apps/web.yaml',
        code: expect.stringMatching(/^[a-z-]+$/),
        message: REASON,
      });
    expect(problems.map(({ line, column }) => [line, column])).toEqual([
      [3, 1],
      [6, 5],
    ]);
  });
});

describe('docs/contract.md, 11.1: Other files', () => {
  const LEFT_ALONE = [
    'README',
    'README.md',
    'README.txt',
    'LICENSE',
    'LICENSE.txt',
    'notes.md',
    '.gitkeep',
    '.hidden/x.yaml',
    'apps/README.md',
    'apps/.keep',
    'apps/x/notes.md',
    'device-groups/LICENSE',
  ];
  const OTHER_FILES = [
    'apps/web.json',
    'apps/web.yaml.bak',
    'apps/x/Makefile',
    'notes.txt',
    'other/web.yaml',
    'web.yaml',
  ];
  const filesWith = (text: string, paths: readonly string[]) =>
    Object.fromEntries(paths.map((path) => [path, text]));

  it('README*, LICENSE*, dot files and *.md are left alone', async () => {
    const manager = await startManager({
      files: { ...SMALL_FLEET, ...filesWith('anything: [\n', LEFT_ALONE) },
    });
    expect((await manager.get('/api/v2/reconcile')).body.problems).toEqual([]);
    expect(await appNames(manager)).toEqual(['cron', 'web']);
  });

  it('any other file is a warning, which does not make STRICT refuse the commit', async () => {
    const manager = await startManager({
      files: { ...SMALL_FLEET, ...filesWith('x', OTHER_FILES) },
      settings: { STRICT: 'true' },
    });
    const { body } = await manager.get('/api/v2/reconcile');
    expect(body.problems).toMatchObject(
      OTHER_FILES.map((file) => ({ file, severity: 'warning', message: REASON })),
    );
    expect(await appNames(manager)).toEqual(['cron', 'web']);
  });
});

const WEB_FILE = 'desired-state/apps/web.yaml';

/** Changes apps/web.yaml, and commits it together with all uncommitted files. */
type Spoil = (repository: TestRepository) => Promise<unknown>;

const withContent =
  (content: string | Uint8Array): Spoil =>
  (repository) =>
    repository.commit({ [WEB_FILE]: content });

const asLinkTo =
  (target: string): Spoil =>
  async (repository) => {
    const path = join(repository.folder, WEB_FILE);
    await rm(path);
    await symlink(target, path);
    await repository.commit({});
  };

async function asSubmodule({ git }: TestRepository): Promise<void> {
  const head = await git('rev-parse', 'HEAD');
  await git('add', '--all');
  await git('rm', '--quiet', '--cached', WEB_FILE);
  await git('update-index', '--add', '--cacheinfo', `160000,${head},${WEB_FILE}`);
  await git('commit', '--quiet', '-m', 'a submodule');
}

const BAD_FILES: readonly (readonly [name: string, spoil: Spoil])[] = [
  ['broken YAML', withContent('container_image: "a\n')],
  ['an unknown field', withContent('docker_image: a\n')],
  ['not UTF-8', withContent(Uint8Array.of(0xff, 0xfe, 0x61))],
  ['too large', withContent(`container_image: a\n${'# x\n'.repeat(70_000)}`)],
  ['a symlink to a valid file', asLinkTo('cron.yaml')],
  ['a symlink out of the repository', asLinkTo('/etc/hostname')],
  ['a submodule', asSubmodule],
];

describe('docs/contract.md, 11.2: A file that is invalid, unreadable, too large, a symlink or a submodule', () => {
  it.each(BAD_FILES)(
    'a problem of that file; its object keeps its last good content, everything else is applied: %s',
    async (_, spoil) => {
      const manager = await startManager({ files: SMALL_FLEET });
      const before = await managerState(manager);
      const { folder } = manager.repository;
      await writeFiles(folder, { 'desired-state/apps/new.yaml': 'container_image: new:1\n' });
      await spoil(manager.repository);
      const head = await manager.repository.git('rev-parse', 'HEAD');
      const { body } = await manager.reconcile();
      expect(body.problems.length).toBeGreaterThan(0);
      for (const problem of body.problems)
        expect(problem).toMatchObject({
          file: 'apps/web.yaml',
          line: expect.any(Number),
          column: expect.any(Number),
          code: REASON,
          message: REASON,
        });
      expect(body.revision_applied).toBe(head);
      const after = await managerState(manager);
      expect(after.groups).toEqual(before.groups);
      expect(after.apps).toEqual({ ...before.apps, new: appRecord('new', { container_image: 'new:1' }, 1) });
      const { body: info } = await manager.get('/api/v2/device_groups/edge/info');
      expect(info.apps[0]).toEqual(before.apps['web']);
    },
  );

  it('a file whose name is not a valid name of an object is a problem', async () => {
    const manager = await startManager({ files: SMALL_FLEET });
    const { problemFiles } = await push(manager, {
      'apps/a b.yaml': 'container_image: a\n',
      'apps/-x.yml': 'container_image: a\n',
    });
    expect(problemFiles).toEqual(['apps/-x.yml', 'apps/a b.yaml']);
    expect(await appNames(manager)).toEqual(['cron', 'web']);
  });

  it('a valid version of the file clears the problem and is applied', async () => {
    const manager = await startManager({ files: SMALL_FLEET });
    expect((await push(manager, { 'apps/web.yaml': '[' })).problems).toHaveLength(1);
    expect((await push(manager, { 'apps/web.yaml': 'container_image: valid:1\n' })).problems).toEqual([]);
    expect((await manager.get('/api/v2/apps/web')).body.container_image).toBe('valid:1');
  });

  it('its object keeps its last good content, also if the file became invalid while no manager ran', async () => {
    const manager = await startManager({ files: SMALL_FLEET });
    const before = await managerState(manager);
    await manager.stop();
    const changes = { 'apps/new.yaml': 'container_image: new:1\n', 'apps/web.yaml': '[' };
    await manager.repository.commit(inDesiredState(changes));
    const next = await manager.restart();
    const { problems } = (await next.get('/api/v2/reconcile')).body;
    expect(problems.map(({ file }: Problem) => file)).toEqual(['apps/web.yaml']);
    const { apps, groups } = await managerState(next);
    expect(groups).toEqual(before.groups);
    expect(apps).toEqual({ ...before.apps, new: appRecord('new', { container_image: 'new:1' }, 1) });
  });

  it('problems are reported again after a restart', async () => {
    const manager = await startManager({ files: SMALL_FLEET });
    const { problems } = await push(manager, {
      'apps/web.yaml': '[',
      'device-groups/edge.yaml': 'apps: [nope]\n',
    });
    const next = await manager.restart();
    const after = (await next.get('/api/v2/reconcile')).body.problems;
    expect(after.map((p: Problem) => [p.file, p.message])).toEqual(problems.map((p) => [p.file, p.message]));
    expect(after).toHaveLength(2);
  });
});
