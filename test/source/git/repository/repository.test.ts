import { execFileSync } from 'node:child_process';
import { mkdir, readFile, realpath, rename, rm, symlink, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { NO_FAULTS } from '../../../../src/faults.ts';
import { currentBranch } from '../../../../src/source/git/refs/tips.ts';
import { createRepository } from '../../../../src/source/git/repository/new-repository.ts';
import {
  findRepository,
  type Machine,
  type Repository,
} from '../../../../src/source/git/repository/repository.ts';
import { temporaryFolder, writeFiles } from '../../../support/folder.ts';
import { repositoryAt, testRepository } from '../../../support/git.ts';
import { MACHINE, machineWith, newRepository, openSource } from '../support.ts';

/** A machine whose `git` reports this version. */
const machineWithVersion = (version: string): Promise<Machine> =>
  machineWith(`[ "$1" != version ] || { echo "git version ${version}"; exit; }`);

describe('findRepository', () => {
  it.each([
    ['its top', '', ''],
    ['a folder', 'ds', 'ds'],
    ['a nested folder', 'a/b', 'a/b'],
    ['a missing folder', 'none', 'none'],
    ['a missing folder in a missing folder', 'ds/none/x', 'ds/none/x'],
    ['a path with dots and slashes', 'a/./../ds/', 'ds'],
    ['a folder with an odd name', '-ö "x"\'', '-ö "x"\''],
  ])('finds the repository from %s', async (_, below, prefix) => {
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
    ['a folder', 'repo/ds', 'ds'],
    ['a missing folder', 'repo/none/x', 'none/x'],
    ['the top', 'repo', ''],
  ])(
    'finds the repository from %s, if its path goes through a symlink to the repository',
    async (_, below, prefix) => {
      const { folder } = await testRepository();
      await writeFiles(folder, { 'ds/x': '' });
      const elsewhere = await temporaryFolder();
      await symlink(folder, join(elsewhere, 'repo'));
      expect(await findRepository(join(elsewhere, below), MACHINE)).toMatchObject({
        prefix,
        context: { folder: await realpath(folder) },
      });
    },
  );

  it('finds the repository from a symlink elsewhere that leads to a folder in it', async () => {
    const { folder } = await testRepository();
    await writeFiles(folder, { 'ds/x': '' });
    const link = join(await temporaryFolder(), 'link');
    await symlink(join(folder, 'ds'), link);
    expect(await findRepository(link, MACHINE)).toMatchObject({ prefix: 'ds' });
  });

  it('treats a symlink that leads nowhere as a missing folder', async () => {
    const { folder } = await testRepository();
    await symlink('nowhere', join(folder, 'ds'));
    expect(await findRepository(join(folder, 'ds'), MACHINE)).toMatchObject({ prefix: 'ds' });
  });

  it('returns the git folder and the common folder of a linked work tree', async () => {
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

  it('finds a work tree inside its own git folder, but refuses other folders there', async () => {
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
    const besideWorkTree = findRepository(join(around, 'objects'), MACHINE);
    await expect(besideWorkTree).rejects.toMatchObject({ kind: 'invalid' });
  });

  it('finds the inner one of two nested repositories', async () => {
    const outer = await testRepository();
    const inner = repositoryAt(join(outer.folder, 'inner'));
    await mkdir(inner.folder);
    await inner.git('init', '--quiet');
    expect(await findRepository(join(inner.folder, 'ds'), MACHINE)).toMatchObject({ prefix: 'ds' });
  });

  it('resolves to null for a folder in no repository', async () => {
    expect(await findRepository(await temporaryFolder(), MACHINE)).toBeNull();
  });

  it.each([
    ['with a line break', 'a\nb'],
    ['that ends with a line break', 'a\n'],
  ])('refuses a path %s, which could be mistaken for another path', async (_, top) => {
    const folder = join(await temporaryFolder(), top);
    await mkdir(join(folder, 'ds'), { recursive: true });
    await repositoryAt(folder).git('init', '--quiet');
    await expect(findRepository(join(folder, 'ds'), MACHINE)).rejects.toMatchObject({
      kind: 'invalid',
      message: expect.stringContaining('line break'),
    });
  });

  it('refuses a repository with an unknown extension, and says that it needs a newer git', async () => {
    const { folder, git } = await testRepository();
    await git('config', 'core.repositoryFormatVersion', '1');
    await git('config', 'extensions.fromTheFuture', 'true');
    await expect(findRepository(folder, MACHINE)).rejects.toMatchObject({
      kind: 'invalid',
      message: expect.stringMatching(/needs a newer git; install one$/),
    });
  });

  it('refuses a repository without a work tree even if git ignores such repositories by default', async () => {
    const { folder } = await newRepository('--bare');
    // The default of git 3.0.
    const machine = await machineWith(`export GIT_CONFIG_PARAMETERS="'safe.bareRepository=explicit'"`);
    await expect(findRepository(folder, machine)).rejects.toMatchObject({
      kind: 'invalid',
      message: expect.stringMatching(/work tree/),
    });
  });

  it.each([
    ['a repository without a work tree', ''],
    ['a missing folder in such a repository', 'none'],
    ['a .git folder', '.git'],
    ['a folder inside a .git folder', '.git/refs/heads'],
  ])('refuses %s, so that no other repository is made there', async (_, below) => {
    const { folder } = below.startsWith('.git') ? await testRepository() : await newRepository('--bare');
    await expect(findRepository(join(folder, below), MACHINE)).rejects.toMatchObject({
      kind: 'invalid',
      message: expect.stringMatching(/work tree/),
    });
  });

  it.each([
    ['without HEAD', (folder: string) => rm(join(folder, '.git/HEAD'))],
    ['whose HEAD is empty', (folder: string) => writeFile(join(folder, '.git/HEAD'), '')],
    [
      'whose .git file leads nowhere',
      async (folder: string) => {
        await rm(join(folder, '.git'), { recursive: true });
        await writeFile(join(folder, '.git'), 'gitdir: /nonexistent/.git/worktrees/x\n');
      },
    ],
  ])('refuses a damaged repository %s, so that no other repository is made inside', async (_, spoil) => {
    const { folder } = await testRepository();
    await writeFiles(folder, { 'ds/x': '' });
    await spoil(folder);
    await expect(findRepository(join(folder, 'ds'), MACHINE)).rejects.toMatchObject({
      kind: 'invalid',
      message: expect.stringMatching(/\/\.git; repair it, or remove it$/),
    });
  });

  it.runIf(process.getuid?.() === 0)('uses a repository that belongs to another user', async () => {
    const { folder } = await testRepository();
    await writeFiles(folder, { 'ds/x': '' });
    execFileSync('chown', ['-R', '12345', folder]);
    expect(await findRepository(join(folder, 'ds'), MACHINE)).toMatchObject({ prefix: 'ds' });
  });
});

describe('the version of git', () => {
  it.each(['2.38.0', '2.39.5', '2.100.1', '3.0', '2.45.1.windows.1', '2.39.3 (Apple Git-146)'])(
    '%s is accepted',
    async (version) => {
      expect(await findRepository(await temporaryFolder(), await machineWithVersion(version))).toBeNull();
    },
  );

  it.each(['2.37.9', '2.9.5', '1.99.0', '0.99'])(
    '%s is too old, and the error says which version to install',
    async (version) => {
      await expect(
        findRepository(await temporaryFolder(), await machineWithVersion(version)),
      ).rejects.toMatchObject({
        kind: 'invalid',
        message: expect.stringMatching(/is too old; install git 2\.38 or newer$/),
      });
    },
  );

  it('that is required is named by the error if git is not installed', async () => {
    await expect(
      findRepository(await temporaryFolder(), { ...MACHINE, env: { PATH: '/nonexistent' } }),
    ).rejects.toMatchObject({
      kind: 'invalid',
      message: expect.stringMatching(/install git 2\.38 or newer/),
    });
  });
});

describe('createRepository', () => {
  it('commits everything that is in the folder, except ignored files', async () => {
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
    ['a home folder', { '.ssh/id_ed25519': 'key', 'notes.txt': '' }, '.ssh, notes.txt'],
    ['a folder that also has a data folder', { 'apps/web.yaml': 'a', 'data/admin.json': '{}' }, 'data'],
    ['a folder with many other files', { a: '', b: '', c: '', d: '' }, 'a, b, c, …'],
  ])('refuses %s, and names what does not belong there', async (_, files, names) => {
    const folder = await temporaryFolder();
    await writeFiles(folder, files as Record<string, string>);
    await expect(createRepository(folder, MACHINE, NO_FAULTS)).rejects.toMatchObject({
      kind: 'invalid',
      message: expect.stringContaining(`(${names})`),
    });
    expect(await findRepository(folder, MACHINE)).toBeNull();
  });

  it('makes a repository without a commit of an empty folder', async () => {
    const folder = await temporaryFolder();
    const repository = await createRepository(folder, MACHINE, NO_FAULTS);
    expect(await currentBranch(repository)).toBe('refs/heads/main');
    await expect(repositoryAt(folder).git('rev-parse', '--verify', 'HEAD')).rejects.toThrow();
  });

  it.each([
    ['before the mark of an unfinished repository', []],
    ['right after the mark of an unfinished repository', ['holdfast-unfinished']],
  ])('is repeated at the next start if the process was killed %s', async (_, names) => {
    const folder = await temporaryFolder();
    await writeFiles(folder, { 'apps/web.yaml': 'a\n' });
    await mkdir(join(folder, '.git'));
    for (const name of names) await writeFile(join(folder, '.git', name), '');
    await openSource(folder);
    expect(await repositoryAt(folder).git('ls-files')).toBe('apps/web.yaml');
  });

  it('leaves no repository behind if its first commit fails', async () => {
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
    ['refs/heads/main', 'a branch', 'ref: refs/heads/main\n'],
    ['refs/heads/a/b.c', 'a branch with slashes', 'ref: refs/heads/a/b.c\n'],
    ['refs/heads/main', 'a branch, without a line break', 'ref: refs/heads/main'],
    [null, 'a commit', `${'a'.repeat(40)}\n`],
    [null, 'a commit of sha256', `${'a'.repeat(64)}\n`],
  ])('is %s if HEAD names %s', async (branch, _name, head) => {
    const { folder } = await testRepository();
    const repository = await findRepository(folder, MACHINE);
    await writeFile(join(folder, '.git/HEAD'), head);
    expect(await currentBranch(repository as Repository)).toBe(branch);
  });

  it('is asked of git if HEAD has an unusual format', async () => {
    const { folder } = await testRepository();
    const repository = await findRepository(folder, MACHINE);
    // git allows more than one space there.
    await writeFile(join(folder, '.git/HEAD'), 'ref:   refs/heads/main\n');
    expect(await currentBranch(repository as Repository)).toBe('refs/heads/main');
    expect(await readFile(join(folder, '.git/HEAD'), 'utf8')).toBe('ref:   refs/heads/main\n');
  });
});
