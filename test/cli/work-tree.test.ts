import { rm } from 'node:fs/promises';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { runCli } from '../support/command.ts';
import { inDesiredState, temporaryFolder, writeFiles } from '../support/folder.ts';
import { type TestRepository, testRepository } from '../support/git.ts';
import { SMALL_FLEET } from '../support/manager.ts';

type Files = Readonly<Record<string, string>>;

async function fleet(more: Files = {}): Promise<TestRepository> {
  const repository = await testRepository();
  await repository.commit({ ...inDesiredState(SMALL_FLEET), ...more });
  return repository;
}

/** The output of a command for the fleet of a repository: exit code, warnings, files of problems with codes, steps. */
async function outputOf(command: string, { folder }: TestRepository): Promise<unknown[]> {
  const { code, out, err } = await runCli([command, join(folder, 'desired-state'), '--format', 'json']);
  const { problems, steps } = JSON.parse(out) as {
    problems: { file: string; code: string }[];
    steps: { operation: string; name: string }[];
  };
  return [
    code,
    err,
    ...problems.map((problem) => `${problem.file.split('/desired-state/')[1]} ${problem.code}`),
    ...steps.map(({ operation, name }) => `${operation} ${name}`),
  ];
}

describe.each(['validate', 'plan'])('%s reads what a commit of the work tree would contain', (command) => {
  it('without files that git ignores, and warns of those that would be objects', async () => {
    const repository = await fleet({ '.gitignore': '*.local.yaml\n/desired-state/apps/build/\n*.orig\n' });
    await writeFiles(repository.folder, {
      'desired-state/apps/me.local.yaml': 'container_image: [1\n',
      'desired-state/apps/build/out.yaml': 'container_image: out:1\n',
      'desired-state/apps/web.yaml.orig': 'x',
      '.git/info/exclude': 'private.yaml\n',
      'desired-state/device-groups/private.yaml': 'apps: []\n',
    });
    expect(await outputOf(command, repository)).toEqual([
      0,
      '',
      'apps/build/out.yaml file-ignored',
      'apps/me.local.yaml file-ignored',
      'device-groups/private.yaml file-ignored',
    ]);
  });

  it('with a file that git tracks although a rule would ignore it', async () => {
    const repository = await fleet({ '.gitignore': 'web.yaml\n' });
    await repository.git('add', '--force', 'desired-state/apps/web.yaml');
    await repository.git('commit', '--quiet', '--message', 'track an ignored file');
    await writeFiles(repository.folder, { 'desired-state/apps/web.yaml': 'container_image: 1\n' });
    expect(await outputOf(command, repository)).toEqual([1, '', 'apps/web.yaml field-invalid']);
  });

  it('with a repository inside the folder, unless git ignores it', async () => {
    const repository = await fleet();
    await repository.git('clone', '--quiet', '.', 'desired-state/apps/vendor');
    expect(await outputOf(command, repository)).toEqual([1, '', 'apps/vendor file-submodule']);
    await writeFiles(repository.folder, { '.gitignore': 'vendor/\n' });
    expect(await outputOf(command, repository)).toEqual([0, '']);
  });

  it('with all files of a given folder, even if git ignores that folder', async () => {
    const repository = await fleet({ '.gitignore': 'rendered/\n' });
    await writeFiles(repository.folder, { 'rendered/desired-state/apps/a.yaml': 'container_image: 1\n' });
    const rendered = { ...repository, folder: join(repository.folder, 'rendered') };
    expect(await outputOf(command, rendered)).toEqual([1, '', 'apps/a.yaml field-invalid']);
  });

  it('with files that a sparse checkout leaves out', async () => {
    const repository = await fleet({ 'desired-state/apps/shop/extra.yaml': 'container_image: extra:1\n' });
    await repository.git('sparse-checkout', 'set', 'desired-state/apps/shop');
    await rm(join(repository.folder, 'desired-state/device-groups'), { recursive: true, force: true });
    expect(await outputOf(command, repository)).toEqual([0, '']);
  });

  it('with submodules that are not checked out', async () => {
    const repository = await fleet();
    const commit = await repository.git('rev-parse', 'HEAD');
    await repository.git(
      'update-index',
      '--add',
      '--cacheinfo',
      `160000,${commit},desired-state/apps/vendor`,
    );
    expect(await outputOf(command, repository)).toEqual([1, '', 'apps/vendor file-submodule']);
  });

  it('with all files of a folder outside of a repository', async () => {
    const folder = await temporaryFolder();
    await writeFiles(join(folder, 'desired-state'), { ...SMALL_FLEET, '.gitignore': '*' });
    const [code, err, ...rest] = await outputOf(command, { folder } as TestRepository);
    expect([code, err]).toEqual([0, '']);
    expect(rest.filter((line) => String(line).includes('file-ignored'))).toEqual([]);
  });
});

it('validate without git checks all files, and warns that it cannot recognize ignored ones', async () => {
  const { folder } = await fleet();
  const { code, out, err } = await runCli(['validate', join(folder, 'desired-state')], {
    env: { PATH: '/nonexistent' },
  });
  expect([code, out]).toEqual([0, expect.stringContaining('0 problems')]);
  expect(err).toMatch(/^holdfast: warning: files that git ignores are checked as well: git cannot be run: /);
});
