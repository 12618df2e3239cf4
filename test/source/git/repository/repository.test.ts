import { execFileSync } from 'node:child_process';
import { mkdir, readFile, realpath, rename, rm, symlink, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { NO_FAULTS } from '../../../../src/faults.ts';
import { createRepository } from '../../../../src/source/git/repository/new-repository.ts';
import { currentBranch } from '../../../../src/source/git/repository/refs.ts';
import { findRepository } from '../../../../src/source/git/repository/repository.ts';
import { temporaryFolder, writeFiles } from '../../../support/folder.ts';
import { repositoryAt, testRepository } from '../../../support/git.ts';
import { folderOfFile, MACHINE, newRepository, openSource } from '../support.ts';

const tools = await folderOfFile();

/** A machine whose `git` says that it has this version. */
async function machineWith(version: string) {
  const folder = join(tools, version);
  await mkdir(folder, { recursive: true });
  const script = `#!/bin/sh\nif [ "$1" = version ]; then echo "git version ${version}"; else PATH="${process.env['PATH']}" exec git "$@"; fi\n`;
  await writeFile(join(folder, 'git'), script, { mode: 0o755 });
  return { ...MACHINE, env: { PATH: `${folder}:/bin:/usr/bin` } };
}

describe('findRepository', () => {
  it.each([
    { name: 'its top', below: '', prefix: '' },
    { name: 'a folder', below: 'ds', prefix: 'ds' },
    { name: 'a nested folder', below: 'a/b', prefix: 'a/b' },
    { name: 'a folder that is missing', below: 'none', prefix: 'none' },
    { name: 'a missing folder in a missing folder', below: 'ds/none/x', prefix: 'ds/none/x' },
    { name: 'a folder named with dots and slashes', below: 'a/./../ds/', prefix: 'ds' },
    { name: 'a folder with an odd name', below: '-ö "x"\'', prefix: '-ö "x"\'' },
  ])('finds it from $name', async ({ below, prefix }) => {
    const { folder } = await testRepository();
    await writeFiles(folder, { 'ds/x': '', 'a/b/x': '', '-ö "x"\'/x': '' });
    const top = await realpath(folder);
    expect(await findRepository(`${folder}/${below}`, MACHINE)).toMatchObject({
      prefix,
      gitFolder: `${top}/.git`,
      commonFolder: `${top}/.git`,
      context: { folder: top },
    });
  });

  it.each([
    { name: 'that is there', below: 'repo/ds', prefix: 'ds' },
    { name: 'that is missing', below: 'repo/none/x', prefix: 'none/x' },
    { name: 'that is the top', below: 'repo', prefix: '' },
  ])('finds it by a way through a symlink, for a folder $name', async ({ below, prefix }) => {
    const { folder } = await testRepository();
    await writeFiles(folder, { 'ds/x': '' });
    const elsewhere = await temporaryFolder();
    await symlink(folder, join(elsewhere, 'repo'));
    expect(await findRepository(join(elsewhere, below), MACHINE)).toMatchObject({
      prefix,
      context: { folder: await realpath(folder) },
    });
  });

  it('finds the repository that a link to a folder leads into', async () => {
    const { folder } = await testRepository();
    await writeFiles(folder, { 'ds/x': '' });
    const link = join(await temporaryFolder(), 'link');
    await symlink(join(folder, 'ds'), link);
    expect(await findRepository(link, MACHINE)).toMatchObject({ prefix: 'ds' });
  });

  it('takes a link that leads nowhere for a missing folder', async () => {
    const { folder } = await testRepository();
    await symlink('nowhere', join(folder, 'ds'));
    expect(await findRepository(join(folder, 'ds'), MACHINE)).toMatchObject({ prefix: 'ds' });
  });

  it('tells the folders of a linked work tree', async () => {
    const repository = await testRepository();
    await repository.commit({ 'ds/x': '' });
    const folder = join(await realpath(await temporaryFolder()), 'linked');
    await repository.git('worktree', 'add', '--quiet', folder);
    const top = await realpath(repository.folder);
    expect(await findRepository(join(folder, 'ds'), MACHINE)).toMatchObject({
      prefix: 'ds',
      gitFolder: `${top}/.git/worktrees/linked`,
      commonFolder: `${top}/.git`,
      context: { folder },
    });
  });

  it('finds a work tree that stands in its own folder of git', async () => {
    const { git, commit } = await testRepository();
    await commit({ 'ds/x': '' });
    const around = join(await realpath(await temporaryFolder()), 'around');
    const folder = join(around, 'work');
    await git('clone', '--quiet', `--separate-git-dir=${around}`, '.', `${around}.clone`);
    await rename(`${around}.clone`, folder);
    expect(await findRepository(join(folder, 'ds'), MACHINE)).toMatchObject({
      prefix: 'ds',
      gitFolder: around,
      context: { folder },
    });
    const beside = findRepository(join(around, 'objects'), MACHINE);
    await expect(beside).rejects.toMatchObject({ kind: 'invalid' });
  });

  it('finds the inner one of two', async () => {
    const outer = await testRepository();
    const inner = repositoryAt(join(outer.folder, 'inner'));
    await mkdir(inner.folder);
    await inner.git('init', '--quiet');
    expect(await findRepository(join(inner.folder, 'ds'), MACHINE)).toMatchObject({ prefix: 'ds' });
  });

  it('has null for a folder in no repository', async () => {
    expect(await findRepository(await temporaryFolder(), MACHINE)).toBeNull();
  });

  it.each([
    { name: 'a line break in the folder of the repository', top: 'a\nb' },
    { name: 'one at its end', top: 'a\n' },
  ])('refuses $name, since another folder would be taken for it', async ({ top }) => {
    const folder = join(await temporaryFolder(), top);
    await mkdir(join(folder, 'ds'), { recursive: true });
    await repositoryAt(folder).git('init', '--quiet');
    await expect(findRepository(join(folder, 'ds'), MACHINE)).rejects.toMatchObject({
      kind: 'invalid',
      message: expect.stringContaining('line break'),
    });
  });

  it('says that a repository of a later kind needs a newer git', async () => {
    const { folder, git } = await testRepository();
    await git('config', 'core.repositoryFormatVersion', '1');
    await git('config', 'extensions.fromTheFuture', 'true');
    await expect(findRepository(folder, MACHINE)).rejects.toMatchObject({
      kind: 'invalid',
      message: expect.stringMatching(/needs a newer git; install one$/),
    });
  });

  it('refuses a repository without a work tree also where git uses none that it came upon', async () => {
    const { folder } = await newRepository('--bare');
    const bin = await temporaryFolder();
    // As git 3.0 will by default.
    const explicit = `GIT_CONFIG_PARAMETERS="'safe.bareRepository=explicit'"`;
    const script = `#!/bin/sh\n${explicit} PATH="${process.env['PATH']}" exec git "$@"\n`;
    await writeFile(join(bin, 'git'), script, { mode: 0o755 });
    const machine = { ...MACHINE, env: { PATH: `${bin}:${process.env['PATH']}` } };
    await expect(findRepository(folder, machine)).rejects.toMatchObject({
      kind: 'invalid',
      message: expect.stringMatching(/work tree/),
    });
  });

  it.each([
    { name: 'a repository without a work tree', below: '' },
    { name: 'a missing folder in one', below: 'none' },
    { name: 'the inside of a .git folder', below: '.git' },
    { name: 'a folder inside of .git', below: '.git/refs/heads' },
  ])('refuses $name instead of making another repository there', async ({ below }) => {
    const { folder } = below.startsWith('.git') ? await testRepository() : await newRepository('--bare');
    await expect(findRepository(join(folder, below), MACHINE)).rejects.toMatchObject({
      kind: 'invalid',
      message: expect.stringMatching(/work tree/),
    });
  });

  it.each([
    { name: 'without HEAD', spoil: (folder: string) => rm(join(folder, '.git/HEAD')) },
    { name: 'whose HEAD is empty', spoil: (folder: string) => writeFile(join(folder, '.git/HEAD'), '') },
    {
      name: 'that is a work tree of a lost one',
      spoil: async (folder: string) => {
        await rm(join(folder, '.git'), { recursive: true });
        await writeFile(join(folder, '.git'), 'gitdir: /nonexistent/.git/worktrees/x\n');
      },
    },
  ])('refuses a damaged repository, $name, instead of making another one inside', async ({ spoil }) => {
    const { folder } = await testRepository();
    await writeFiles(folder, { 'ds/x': '' });
    await spoil(folder);
    await expect(findRepository(join(folder, 'ds'), MACHINE)).rejects.toMatchObject({
      kind: 'invalid',
      message: expect.stringMatching(/\/\.git; repair it, or remove it$/),
    });
  });

  it('uses a repository that belongs to somebody else', async () => {
    const { folder } = await testRepository();
    await writeFiles(folder, { 'ds/x': '' });
    if (process.getuid?.() === 0) execFileSync('chown', ['-R', '12345', folder]);
    expect(await findRepository(join(folder, 'ds'), MACHINE)).toMatchObject({ prefix: 'ds' });
  });
});

describe('the version of git', () => {
  it.each(['2.36.0', '2.39.5', '2.100.1', '3.0', '2.45.1.windows.1', '2.39.3 (Apple Git-146)'])(
    '%s is new enough',
    async (version) => {
      expect(await findRepository(await temporaryFolder(), await machineWith(version))).toBeNull();
    },
  );

  it.each(['2.35.9', '2.9.5', '1.99.0', '0.99'])(
    '%s is too old, and the message says what to do',
    async (version) => {
      await expect(findRepository(await temporaryFolder(), await machineWith(version))).rejects.toMatchObject(
        {
          kind: 'invalid',
          message: expect.stringMatching(/is too old; install git 2\.36 or newer$/),
        },
      );
    },
  );

  it('cannot be told where git is not installed', async () => {
    await expect(
      findRepository(await temporaryFolder(), { ...MACHINE, env: { PATH: '/nonexistent' } }),
    ).rejects.toMatchObject({
      kind: 'invalid',
      message: expect.stringMatching(/install git 2\.36 or newer/),
    });
  });
});

describe('createRepository', () => {
  it('makes a first commit of everything that is there', async () => {
    const folder = await temporaryFolder();
    await writeFiles(folder, {
      'apps/web.yaml': 'a\r\n',
      'apps/.hidden': 'h',
      'device-groups/a b/ö': 'x',
      '.gitignore': 'ignored\n',
      'apps/ignored': '',
    });
    await writeFile(join(folder, 'apps/run.sh'), '', { mode: 0o755 });
    const repository = await createRepository(folder, MACHINE, NO_FAULTS);
    expect(repository.prefix).toBe('');
    const { git } = repositoryAt(folder);
    expect((await git('ls-files', '-s', '-z')).split('\0').map((line) => line.replace(/ .*\t/, ' '))).toEqual(
      [
        '100644 .gitignore',
        '100644 apps/.hidden',
        '100755 apps/run.sh',
        '100644 apps/web.yaml',
        '100644 device-groups/a b/ö',
        '',
      ],
    );
    expect(await git('status', '--porcelain')).toBe('');
    expect(await git('log', '--format=%s%n%an <%ae>%n%cn <%ce>')).toBe(
      'Take the desired state under version control\nHoldfast <holdfast@holdfast.invalid>\nHoldfast <holdfast@holdfast.invalid>',
    );
    expect(await git('symbolic-ref', 'HEAD')).toBe('refs/heads/main');
  });

  it.each([
    { name: 'a home folder', files: { '.ssh/id_ed25519': 'key', 'notes.txt': '' }, told: '.ssh, notes.txt' },
    { name: 'a data folder beside', files: { 'apps/web.yaml': 'a', 'data/admin.json': '{}' }, told: 'data' },
    { name: 'much else', files: { a: '', b: '', c: '', d: '' }, told: 'a, b, c, …' },
  ])('makes none of $name, and names what does not belong there', async ({ files, told }) => {
    const folder = await temporaryFolder();
    await writeFiles(folder, files as Record<string, string>);
    await expect(createRepository(folder, MACHINE, NO_FAULTS)).rejects.toMatchObject({
      kind: 'invalid',
      message: expect.stringContaining(`(${told})`),
    });
    expect(await findRepository(folder, MACHINE)).toBeNull();
  });

  it('makes no commit of an empty folder', async () => {
    const folder = await temporaryFolder();
    const repository = await createRepository(folder, MACHINE, NO_FAULTS);
    expect(await currentBranch(repository)).toBe('refs/heads/main');
    await expect(repositoryAt(folder).git('rev-parse', '--verify', 'HEAD')).rejects.toThrow();
  });

  it.each([
    ['before anything was in it', []],
    ['right after it was marked', ['holdfast-unfinished']],
  ])('begins anew where a process died that made one, %s', async (_, names) => {
    const folder = await temporaryFolder();
    await writeFiles(folder, { 'apps/web.yaml': 'a\n' });
    await mkdir(join(folder, '.git'));
    for (const name of names) await writeFile(join(folder, '.git', name), '');
    await openSource(folder);
    expect(await repositoryAt(folder).git('ls-files')).toBe('apps/web.yaml');
  });

  it('leaves no repository behind where its first commit fails', async () => {
    const folder = await temporaryFolder();
    await writeFiles(folder, { 'apps/web.yaml': 'a', 'apps/inner/.git/HEAD': 'ref: refs/heads/main\n' });
    await writeFiles(folder, { 'apps/inner/.git/objects/x': '', 'apps/inner/.git/refs/x': '' });
    // A repository without a commit inside the folder cannot be added.
    await expect(createRepository(folder, MACHINE, NO_FAULTS)).rejects.toThrow();
    expect(await findRepository(folder, MACHINE)).toBeNull();
    await rm(join(folder, 'apps/inner'), { recursive: true });
    await createRepository(folder, MACHINE, NO_FAULTS);
    expect(await repositoryAt(folder).git('ls-files')).toBe('apps/web.yaml');
  });
});

describe('currentBranch', () => {
  it.each([
    { name: 'a branch', head: 'ref: refs/heads/main\n', is: 'refs/heads/main' },
    { name: 'a branch with folders', head: 'ref: refs/heads/a/b.c\n', is: 'refs/heads/a/b.c' },
    { name: 'a branch, without a line break', head: 'ref: refs/heads/main', is: 'refs/heads/main' },
    { name: 'a commit', head: `${'a'.repeat(40)}\n`, is: null },
    { name: 'a commit of sha256', head: `${'a'.repeat(64)}\n`, is: null },
  ])('reads $name', async ({ head, is }) => {
    const { folder } = await testRepository();
    const repository = await findRepository(folder, MACHINE);
    await writeFile(join(folder, '.git/HEAD'), head);
    expect(await currentBranch(repository as NonNullable<typeof repository>)).toBe(is);
  });

  it('asks git where the file does not say', async () => {
    const { folder } = await testRepository();
    const repository = await findRepository(folder, MACHINE);
    // Spaces in front of the name are allowed.
    await writeFile(join(folder, '.git/HEAD'), 'ref:   refs/heads/main\n');
    expect(await currentBranch(repository as NonNullable<typeof repository>)).toBe('refs/heads/main');
    expect(await readFile(join(folder, '.git/HEAD'), 'utf8')).toBe('ref:   refs/heads/main\n');
  });
});
