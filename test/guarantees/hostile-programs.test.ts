import { appendFile, chmod, mkdir, readFile, rm, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { runCli } from '../support/command.ts';
import { inDesiredState, temporaryFolder, writeFiles } from '../support/folder.ts';
import { type TestRepository, testRepository } from '../support/git.ts';
import { SMALL_FLEET, startManager } from '../support/manager.ts';
import { commitCount } from '../support/manager-state.ts';
import { expectServesTheRest } from './hostile-world.ts';

/** A program that notes that it ran, and what it was called with. */
interface Canary {
  path: string;
  /** What it noted so far. */
  sung(): Promise<string>;
}

async function canary(): Promise<Canary> {
  const folder = await temporaryFolder();
  const [path, notes] = [join(folder, 'canary'), join(folder, 'notes')];
  await writeFile(path, `#!/bin/sh\necho "$0 $*" >> "${notes}"\ncase "$1" in smudge|clean) cat;; esac\n`);
  await chmod(path, 0o755);
  return { path, sung: () => readFile(notes, 'utf8').catch(() => '') };
}

const HOOKS = [
  ...[
    'applypatch-msg',
    'commit-msg',
    'fsmonitor-watchman',
    'post-applypatch',
    'post-checkout',
    'post-commit',
  ],
  ...['post-index-change', 'post-merge', 'post-receive', 'post-rewrite', 'post-update', 'pre-applypatch'],
  ...['pre-auto-gc', 'pre-commit', 'pre-merge-commit', 'pre-push', 'pre-rebase', 'pre-receive'],
  ...['prepare-commit-msg', 'proc-receive', 'push-to-checkout', 'reference-transaction', 'update'],
];

async function plantHooks(repository: TestRepository, { path }: Canary): Promise<void> {
  const folder = join(repository.folder, '.git/hooks');
  await mkdir(folder, { recursive: true });
  for (const hook of HOOKS) {
    await writeFile(join(folder, hook), `#!/bin/sh\nexec "${path}" hook-${hook}\n`, { mode: 0o755 });
  }
}

/** Every setting of a repository that names a program. */
const SETTINGS = [
  ...['core.fsmonitor', 'core.sshCommand', 'core.pager', 'core.editor', 'core.askPass', 'core.gitProxy'],
  ...['core.alternateRefsCommand', 'diff.external', 'gpg.program', 'gpg.ssh.program', 'credential.helper'],
  ...['sequence.editor', 'interactive.diffFilter', 'uploadpack.packObjectsHook', 'pager.log', 'pager.diff'],
  ...['diff.canary.textconv', 'diff.canary.command', 'merge.canary.driver', 'gc.recentObjectsHook'],
  ...['trailer.x.command', 'trailer.x.cmd', 'submodule.evil.update', 'core.hooksPath', 'init.templateDir'],
];

async function plantSettings({ git }: TestRepository, { path }: Canary): Promise<void> {
  for (const name of SETTINGS)
    await git('config', name, name === 'submodule.evil.update' ? `!${path}` : path);
  await git('config', 'log.showSignature', 'true');
  await git('config', 'protocol.ext.allow', 'always');
}

async function plantFilters({ git }: TestRepository, { path }: Canary): Promise<void> {
  for (const name of ['canary', 'lfs', 'UPPER.dots and spaces']) {
    await git('config', `filter.${name}.smudge`, `${path} smudge`);
    await git('config', `filter.${name}.clean`, `${path} clean`);
    await git('config', `filter.${name}.required`, 'true');
  }
  await git('config', 'filter.long.process', `${path} process`);
  await git('config', 'filter.long.required', 'true');
}

/** Everything that a manager does with git, on this repository. */
async function useAll(repository: TestRepository, problems: string[] = []): Promise<void> {
  const { manager: last } = await expectServesTheRest(await startManager({ repository }), { problems });
  expect((await last.delete('/api/v2/apps/web')).status).toBe(200);
  expect((await last.post('/api/v2/apps/web', { container_image: 'new:1' })).status).toBe(200);
  await writeFiles(repository.folder, { 'desired-state/apps/cron.yaml': 'container_image: dirty\n' });
  expect((await last.put('/api/v2/apps/cron/update', { privileged: true })).status).toBe(409);
  expect(await commitCount(repository)).toBeGreaterThan(4);
}

const FLEET = inDesiredState(SMALL_FLEET);

describe('a program of the repository', () => {
  it('that is a hook never runs', async () => {
    const repository = await testRepository();
    await repository.commit(FLEET);
    const bird = await canary();
    await plantHooks(repository, bird);
    await useAll(repository);
    expect(await bird.sung()).toBe('');
    await repository.git('commit', '--quiet', '--allow-empty', '-m', 'a person', '--no-edit').catch(() => '');
    expect(await bird.sung()).toContain('hook-');
  });

  it('that a setting names never runs', async () => {
    const repository = await testRepository();
    await repository.commit({ ...FLEET, '.gitattributes': '*.yaml diff=canary merge=canary\n' });
    const bird = await canary();
    await plantSettings(repository, bird);
    await useAll(repository);
    expect(await bird.sung()).toBe('');
    await repository.git('-c', 'core.fsmonitor=false', 'diff', 'HEAD').catch(() => '');
    expect(await bird.sung()).toMatch(/\S/);
  });

  it.each(['canary', 'lfs', 'long', 'not-set-up'])(
    'that is the filter "%s" never runs, whatever .gitattributes says; files are what is committed',
    async (name) => {
      const repository = await testRepository();
      await repository.commit({
        ...FLEET,
        '.gitattributes': `*.yaml filter=${name} diff=lfs merge=lfs -text\n`,
      });
      const bird = await canary();
      await plantFilters(repository, bird);
      await useAll(repository);
      expect(await bird.sung()).toBe('');
      expect(await readFile(join(repository.folder, 'desired-state/apps/web.yaml'), 'utf8')).toBe(
        await repository.show('desired-state/apps/web.yaml'),
      );
      await writeFiles(repository.folder, { 'desired-state/apps/new.yaml': 'container_image: x\n' });
      await repository.git('add', '.').catch(() => '');
      if (name !== 'not-set-up') expect(await bird.sung()).toMatch(/clean|process/);
    },
  );

  it('that is set up as a filter while the manager runs does not run either', async () => {
    const repository = await testRepository();
    const manager = await startManager({ repository, files: SMALL_FLEET });
    await repository.commit({ '.gitattributes': '*.yaml filter=canary\n' });
    const bird = await canary();
    await plantFilters(repository, bird);
    expect((await manager.put('/api/v2/apps/web/update', { privileged: true })).status).toBe(202);
    expect(await bird.sung()).toBe('');
  });

  it('that a submodule names in .gitmodules (ext::, file://, update = !) never runs', async () => {
    const repository = await testRepository();
    const bird = await canary();
    const first = await repository.commit(FLEET);
    const modules = ['ext', 'file', 'up']
      .map((name) => `[submodule "${name}"]\n\tpath = desired-state/apps/${name}\n\tupdate = !${bird.path}\n`)
      .map(
        (text, index) => `${text}\turl = ${index === 0 ? `ext::${bird.path} %S` : `file://${bird.path}`}\n`,
      );
    await writeFiles(repository.folder, { '.gitmodules': modules.join('') });
    await repository.git('add', '.gitmodules');
    for (const name of ['ext', 'file', 'up']) {
      await repository.git(
        'update-index',
        '--add',
        '--cacheinfo',
        `160000,${first},desired-state/apps/${name}`,
      );
    }
    await repository.git('config', 'submodule.recurse', 'true');
    await repository.git('commit', '--quiet', '-m', 'submodules');
    const problems = ['ext', 'file', 'up'].map((name) => `apps/${name}:1 file-submodule`);
    await useAll(repository, problems);
    expect(await bird.sung()).toBe('');
  });
});

/** A repository's settings by which git fetches what is missing, and starts a program for it. */
function fetchingBy({ path }: Canary, url: string): string {
  return [
    `[core]\n\trepositoryFormatVersion = 1\n\tsshCommand = ${path} ssh`,
    '[extensions]\n\tpartialClone = evil',
    `[remote "evil"]\n\turl = ${url}\n\tpromisor = true\n\tuploadPack = ${path} upload-pack\n`,
  ].join('\n');
}

const REMOTES = ['/', 'ssh://nowhere.invalid/x', 'ext::/bin/sh x'];

describe('what git would fetch by itself, because an object is missing', () => {
  it.each(REMOTES)('from %s: starts no program that the repository names', async (url) => {
    const repository = await testRepository();
    const base = await repository.commit(FLEET);
    const bird = await canary();
    await appendFile(join(repository.folder, '.git/config'), fetchingBy(bird, url));
    const blob = await repository.git('rev-parse', `${base}:desired-state/apps/web.yaml`);
    await rm(join(repository.folder, '.git/objects', blob.slice(0, 2), blob.slice(2)));
    const manager = await startManager({ repository });
    expect((await manager.reconcile()).status).toBe(200);
    const missing = ['--against', '1'.repeat(base.length)];
    const plan = await runCli(['plan', join(repository.folder, 'desired-state'), ...missing]);
    expect(plan.code).toBe(2);
    expect(await bird.sung()).toBe('');
  });
});

/** Files that make a folder look like a bare repository, without a commit that it could read. */
function bareLookalike(bird: Canary, url: string): Record<string, string> {
  return {
    HEAD: 'ref: refs/heads/main\n',
    config: `${fetchingBy(bird, url)}[core]\n\tbare = false\n\tworktree = .\n`,
    'objects/x': '',
    'refs/heads/main': `${'1'.repeat(40)}\n`,
  };
}

describe.each(['desired-state/', ''])(
  'files of a bare repository in the folder "%s" of a commit',
  (place) => {
    it.each(REMOTES)('with the remote %s: are files, and no program runs', async (url) => {
      const repository = await testRepository();
      const base = await repository.commit(FLEET);
      const bird = await canary();
      const files = Object.entries(bareLookalike(bird, url)).map(([path, text]) => [place + path, text]);
      await repository.commit({
        ...Object.fromEntries(files),
        'desired-state/apps/web.yaml': 'container_image: web:2\n',
      });
      const { code, out } = await runCli([
        'plan',
        join(repository.folder, 'desired-state'),
        '--against',
        base,
      ]);
      expect({ code, out }).toMatchObject({
        code: 0,
        out: expect.stringContaining('+   container_image: web:2'),
      });
      const manager = await startManager({ repository });
      const { body } = await manager.reconcile();
      expect(body).toMatchObject({
        error: null,
        revision_applied: await repository.git('rev-parse', 'HEAD'),
      });
      expect((await manager.put('/api/v2/apps/web/update', { privileged: true })).status).toBe(202);
      expect(await bird.sung()).toBe('');
    });
  },
);

describe('attributes that change how files are written', () => {
  it.each([
    ['UTF-16 files in the work tree', '*.yaml working-tree-encoding=UTF-16 text\n'],
    ['Windows line ends', '*.yaml text eol=crlf\n'],
    ['keywords that are expanded', '*.yaml ident export-subst\n'],
    ['an encoding that nobody knows', '*.yaml working-tree-encoding=NOT-AN-ENCODING\n'],
    ['macros and nonsense', '[attr]evil filter=x -text\n*.yaml evil \u0000\n!!! ***\n'],
  ])('%s: what is committed decides, and the work tree stays clean', async (_name, attributes) => {
    const repository = await testRepository();
    await repository.commit(FLEET);
    await repository.commit({ '.gitattributes': attributes }).catch(() => repository.git('reset', '--quiet'));
    await repository
      .git('commit', '--quiet', '--allow-empty', '-m', 'attributes', '--', '.gitattributes')
      .catch(() => '');
    const manager = await startManager({ repository });
    await expectServesTheRest(manager, { problems: [] });
    const text = await repository.show('desired-state/apps/web.yaml');
    expect(text).toBe(SMALL_FLEET['apps/web.yaml'].replace('nginx:1.26', 'beside:2'));
  });
});
