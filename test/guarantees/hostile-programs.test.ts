import { appendFile, chmod, mkdir, readFile, rm, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { runCli } from '../support/command.ts';
import { inDesiredState, temporaryFolder, writeFiles } from '../support/folder.ts';
import { type TestRepository, testRepository } from '../support/git.ts';
import { SMALL_FLEET, startManager } from '../support/manager.ts';
import { commitCount } from '../support/manager-state.ts';
import { expectServesTheRest } from './bad-commit.ts';

/** A program that must never run: it records each of its calls. */
interface Canary {
  path: string;
  /** The command lines of all calls so far, one per line. */
  calls(): Promise<string>;
}

async function makeCanary(): Promise<Canary> {
  const folder = await temporaryFolder();
  const [path, notes] = [join(folder, 'canary'), join(folder, 'notes')];
  await writeFile(path, `#!/bin/sh\necho "$0 $*" >> "${notes}"\ncase "$1" in smudge|clean) cat;; esac\n`);
  await chmod(path, 0o755);
  return { path, calls: () => readFile(notes, 'utf8').catch(() => '') };
}

const HOOKS = [
  ...['applypatch-msg', 'commit-msg', 'fsmonitor-watchman', 'post-applypatch', 'post-checkout'],
  ...[
    'post-commit',
    'post-index-change',
    'post-merge',
    'post-receive',
    'post-rewrite',
    'post-update',
    'pre-applypatch',
  ],
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

/** Has a manager do everything that it does with git: a start, passes, a restart, writes of each kind, and looks at the past. */
async function useEverything(repository: TestRepository, problems: string[] = []): Promise<void> {
  const { manager: last } = await expectServesTheRest(await startManager({ repository }), { problems });
  expect((await last.delete('/api/v2/apps/web')).status).toBe(200);
  expect((await last.post('/api/v2/apps/web', { container_image: 'new:1' })).status).toBe(200);
  for (const path of [
    'history',
    'history/HEAD_',
    'diff?from=OLD_&to=HEAD_',
    'blame/app/cron',
    'plan?revision=main',
  ]) {
    const [head = '', old = ''] = (await repository.git('log', '--format=%H', '-2')).split('\n');
    const { status, body } = await last.get(`/api/v2/${path.replace('HEAD_', head).replace('OLD_', old)}`);
    expect([path, status, body]).toEqual([path, 200, expect.anything()]);
  }
  const undo = { undo: 'main', reason: 'a try' };
  expect((await last.post('/api/v2/rollback?dry_run=true', undo)).status).toBe(200);
  await writeFiles(repository.folder, { 'desired-state/apps/cron.yaml': 'container_image: dirty\n' });
  expect((await last.put('/api/v2/apps/cron/update', { privileged: true })).status).toBe(409);
  expect(await commitCount(repository)).toBeGreaterThan(4);
}

const FLEET = inDesiredState(SMALL_FLEET);

describe('a program that the repository names', () => {
  it('never runs as a hook', async () => {
    const repository = await testRepository();
    await repository.commit(FLEET);
    const canary = await makeCanary();
    await plantHooks(repository, canary);
    await useEverything(repository);
    expect(await canary.calls()).toBe('');
    await repository
      .git('commit', '--quiet', '--allow-empty', '-m', 'by a user', '--no-edit')
      .catch(() => '');
    expect(await canary.calls()).toContain('hook-');
  });

  it('never runs because of a setting of git', async () => {
    const repository = await testRepository();
    await repository.commit({ ...FLEET, '.gitattributes': '*.yaml diff=canary merge=canary\n' });
    const canary = await makeCanary();
    await plantSettings(repository, canary);
    await useEverything(repository);
    expect(await canary.calls()).toBe('');
    await repository.git('-c', 'core.fsmonitor=false', 'diff', 'HEAD').catch(() => '');
    expect(await canary.calls()).toMatch(/\S/);
  });

  it.each(['canary', 'lfs', 'long', 'not-set-up'])(
    'never runs as the filter "%s" of .gitattributes, and files have the bytes that are committed',
    async (name) => {
      const repository = await testRepository();
      await repository.commit({
        ...FLEET,
        '.gitattributes': `*.yaml filter=${name} diff=lfs merge=lfs -text\n`,
      });
      const canary = await makeCanary();
      await plantFilters(repository, canary);
      await useEverything(repository);
      expect(await canary.calls()).toBe('');
      expect(await readFile(join(repository.folder, 'desired-state/apps/web.yaml'), 'utf8')).toBe(
        await repository.show('desired-state/apps/web.yaml'),
      );
      await writeFiles(repository.folder, { 'desired-state/apps/new.yaml': 'container_image: x\n' });
      await repository.git('add', '.').catch(() => '');
      if (name !== 'not-set-up') expect(await canary.calls()).toMatch(/clean|process/);
    },
  );

  it('never runs as a filter that is added while the manager runs', async () => {
    const repository = await testRepository();
    const manager = await startManager({ repository, files: SMALL_FLEET });
    await repository.commit({ '.gitattributes': '*.yaml filter=canary\n' });
    const canary = await makeCanary();
    await plantFilters(repository, canary);
    expect((await manager.put('/api/v2/apps/web/update', { privileged: true })).status).toBe(202);
    expect(await canary.calls()).toBe('');
  });

  it('never runs for a submodule whose .gitmodules names it (ext::, file://, update = !)', async () => {
    const repository = await testRepository();
    const canary = await makeCanary();
    const first = await repository.commit(FLEET);
    const modules = ['ext', 'file', 'up']
      .map(
        (name) => `[submodule "${name}"]\n\tpath = desired-state/apps/${name}\n\tupdate = !${canary.path}\n`,
      )
      .map(
        (text, index) =>
          `${text}\turl = ${index === 0 ? `ext::${canary.path} %S` : `file://${canary.path}`}\n`,
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
    await useEverything(repository, problems);
    expect(await canary.calls()).toBe('');
  });
});

/** Settings of a partial clone: git fetches missing objects from `url`, by the canary. */
function partialCloneConfig({ path }: Canary, url: string): string {
  return [
    `[core]\n\trepositoryFormatVersion = 1\n\tsshCommand = ${path} ssh`,
    '[extensions]\n\tpartialClone = evil',
    `[remote "evil"]\n\turl = ${url}\n\tpromisor = true\n\tuploadPack = ${path} upload-pack\n`,
  ].join('\n');
}

const REMOTES = ['/', 'ssh://nowhere.invalid/x', 'ext::/bin/sh x'];

describe('a partial clone that lacks an object', () => {
  it.each(REMOTES)('makes neither the manager nor `plan` run a program to fetch it from %s', async (url) => {
    const repository = await testRepository();
    const base = await repository.commit(FLEET);
    const canary = await makeCanary();
    await appendFile(join(repository.folder, '.git/config'), partialCloneConfig(canary, url));
    const blob = await repository.git('rev-parse', `${base}:desired-state/apps/web.yaml`);
    await rm(join(repository.folder, '.git/objects', blob.slice(0, 2), blob.slice(2)));
    const manager = await startManager({ repository });
    expect((await manager.reconcile()).status).toBe(200);
    const missing = ['--against', '1'.repeat(base.length)];
    const plan = await runCli(['plan', join(repository.folder, 'desired-state'), ...missing]);
    expect(plan.code).toBe(2);
    expect(await canary.calls()).toBe('');
  });
});

/** Files that make a folder look like a bare repository, whose only commit is missing. */
function bareLookalike(canary: Canary, url: string): Record<string, string> {
  return {
    HEAD: 'ref: refs/heads/main\n',
    config: `${partialCloneConfig(canary, url)}[core]\n\tbare = false\n\tworktree = .\n`,
    'objects/x': '',
    'refs/heads/main': `${'1'.repeat(40)}\n`,
  };
}

describe.each(['desired-state/', ''])(
  'a commit with the files of a bare repository in the folder "%s"',
  (prefix) => {
    it.each(REMOTES)(
      'is read and written to like any other, without running a program for the remote %s',
      async (url) => {
        const repository = await testRepository();
        const base = await repository.commit(FLEET);
        const canary = await makeCanary();
        const files = Object.entries(bareLookalike(canary, url)).map(([path, text]) => [prefix + path, text]);
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
        expect(await canary.calls()).toBe('');
      },
    );
  },
);

describe('attributes that change what git writes into a work tree', () => {
  it.each([
    ['UTF-16 files in the work tree', '*.yaml working-tree-encoding=UTF-16 text\n'],
    ['Windows line ends', '*.yaml text eol=crlf\n'],
    ['expanded keywords', '*.yaml ident export-subst\n'],
    ['an unknown encoding', '*.yaml working-tree-encoding=NOT-AN-ENCODING\n'],
    ['macros and invalid lines', '[attr]evil filter=x -text\n*.yaml evil \u0000\n!!! ***\n'],
  ])('%s: do not change what the manager reads and commits', async (_name, attributes) => {
    const repository = await testRepository();
    await repository.commit(FLEET);
    await repository.commit({ '.gitattributes': attributes }).catch(() => repository.git('reset', '--quiet'));
    await repository
      .git('commit', '--quiet', '--allow-empty', '-m', 'attributes', '--', '.gitattributes')
      .catch(() => '');
    const manager = await startManager({ repository });
    await expectServesTheRest(manager, { problems: [] });
    const text = await repository.show('desired-state/apps/web.yaml');
    expect(text).toBe(SMALL_FLEET['apps/web.yaml'].replace('nginx:1.26', 'written:2'));
  });
});
