import { mkdir, readFile, rename, rm, symlink, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { describe, expect, it, onTestFinished } from 'vitest';
import { temporaryFolder, writeFiles } from '../../../support/folder.ts';
import { repositoryAt, type TestRepository, testRepository } from '../../../support/git.ts';
import { machineWith, newRepository, openSource, publishOne } from '../support.ts';

/** A repository whose folder `ds` has one commit. */
async function repositoryWithCommit(): Promise<{ repository: TestRepository; revision: string }> {
  const repository = await testRepository();
  return { repository, revision: await repository.commit({ 'ds/apps/web.yaml': 'container_image: a\n' }) };
}

/** The path of a loose object. */
function objectFile(folder: string, id: string): string {
  return join(folder, '.git/objects', id.slice(0, 2), id.slice(2));
}

describe('head', () => {
  it('is the branch that is checked out, and changes with it', async () => {
    const { repository, revision } = await repositoryWithCommit();
    const { reader } = await openSource(join(repository.folder, 'ds'));
    expect(await reader.head()).toEqual({ branch: 'refs/heads/main', revision });
    await repository.git('switch', '--quiet', '-c', 'team/größe');
    const second = await repository.commit({ 'ds/a': '' });
    expect(await reader.head()).toEqual({ branch: 'refs/heads/team/größe', revision: second });
    await repository.git('switch', '--quiet', 'main');
    expect(await reader.head()).toEqual({ branch: 'refs/heads/main', revision });
  });

  it('has no branch while HEAD is detached', async () => {
    const { repository, revision } = await repositoryWithCommit();
    await repository.commit({ 'ds/a': '' });
    const { reader } = await openSource(join(repository.folder, 'ds'));
    await repository.git('checkout', '--quiet', revision);
    expect(await reader.head()).toEqual({ branch: null, revision });
  });

  it('has no revision while the branch has no commit', async () => {
    const repository = await testRepository();
    await mkdir(join(repository.folder, 'ds'));
    const { reader } = await openSource(join(repository.folder, 'ds'));
    expect(await reader.head()).toEqual({ branch: 'refs/heads/main', revision: null });
    const revision = await repository.commit({ 'ds/a': '' });
    expect(await reader.head()).toEqual({ branch: 'refs/heads/main', revision });
  });

  it.each<[string, (repository: TestRepository, revision: string) => Promise<unknown>]>([
    ['is missing', ({ folder }, revision) => rm(objectFile(folder, revision))],
    [
      'is unknown since a loss of power emptied the ref',
      ({ folder }) => writeFile(join(folder, '.git/refs/heads/main'), ''),
    ],
  ])(
    'rejects as unavailable if the commit of the branch %s, instead of having no revision',
    async (_, damage) => {
      const { repository, revision } = await repositoryWithCommit();
      await damage(repository, revision);
      const { reader } = await openSource(join(repository.folder, 'ds'));
      await expect(reader.head()).rejects.toMatchObject({
        kind: 'unavailable',
        message: 'the commit of the branch "main" cannot be read: it is missing or damaged; see git fsck',
      });
    },
  );

  it('rejects as unavailable if the commit of the branch is damaged', async () => {
    const { repository, revision } = await repositoryWithCommit();
    const file = objectFile(repository.folder, revision);
    await rm(file);
    await writeFile(file, '');
    const { reader } = await openSource(join(repository.folder, 'ds'));
    await expect(reader.head()).rejects.toMatchObject({ kind: 'unavailable' });
  });

  it('rejects as unavailable while the repository with the shared objects of a clone is missing, and recovers with it', async () => {
    const { repository, revision } = await repositoryWithCommit();
    const clone = repositoryAt(join(await temporaryFolder(), 'clone'));
    await repository.git('clone', '--quiet', '--shared', repository.folder, clone.folder);
    const { reader } = await openSource(join(clone.folder, 'ds'));
    await rename(repository.folder, `${repository.folder}.away`);
    await expect(reader.head()).rejects.toMatchObject({ kind: 'unavailable' });
    await rename(`${repository.folder}.away`, repository.folder);
    expect(await reader.head()).toEqual({ branch: 'refs/heads/main', revision });
  });

  it('has no revision if the branch is a symbolic ref to one without a commit', async () => {
    const repository = await newRepository();
    await repository.git('symbolic-ref', 'refs/heads/main', 'refs/heads/trunk');
    const { reader } = await openSource(repository.folder);
    expect((await reader.head()).revision).toBeNull();
  });

  it('is the branch to which a symbolic ref leads, even if its name ends with a space that is not ASCII', async () => {
    const { repository, revision } = await repositoryWithCommit();
    const branch = 'refs/heads/line\u2028separator\u00a0';
    await repository.git('update-ref', branch, revision);
    await repository.git('symbolic-ref', 'refs/heads/alias', branch);
    const { reader } = await openSource(join(repository.folder, 'ds'), 'alias');
    expect(await reader.head()).toEqual({ branch, revision });
    await repository.git('symbolic-ref', 'HEAD', 'refs/heads/alias');
    const { reader: followsHead } = await openSource(join(repository.folder, 'ds'));
    expect(await followsHead.head()).toEqual({ branch, revision });
  });

  it('stays on the branch of GIT_BRANCH while others are checked out', async () => {
    const { repository, revision } = await repositoryWithCommit();
    const { reader } = await openSource(join(repository.folder, 'ds'), 'main');
    await repository.git('switch', '--quiet', '-c', 'other');
    await repository.commit({ 'ds/a': '' });
    expect(await reader.head()).toEqual({ branch: 'refs/heads/main', revision });
    await repository.git('checkout', '--quiet', '--detach');
    expect(await reader.head()).toEqual({ branch: 'refs/heads/main', revision });
  });

  it('has no revision if the branch of GIT_BRANCH is missing and there are no other branches', async () => {
    const repository = await newRepository();
    const { reader } = await openSource(join(repository.folder, 'ds'), 'none');
    expect(await reader.head()).toEqual({ branch: 'refs/heads/none', revision: null });
  });

  it('rejects as unavailable if the branch of GIT_BRANCH is missing while others exist', async () => {
    const { repository } = await repositoryWithCommit();
    const { reader } = await openSource(join(repository.folder, 'ds'), 'none');
    await expect(reader.head()).rejects.toMatchObject({
      kind: 'unavailable',
      message: expect.stringMatching(/has no branch "none"; check GIT_BRANCH.*there are: main/),
    });
  });

  it('is that of its own branch in a linked work tree', async () => {
    const { repository, revision } = await repositoryWithCommit();
    const linked = repositoryAt(join(await temporaryFolder(), 'linked'));
    await repository.git('worktree', 'add', '--quiet', '-b', 'side', linked.folder);
    const { reader } = await openSource(join(linked.folder, 'ds'));
    expect(await reader.head()).toEqual({ branch: 'refs/heads/side', revision });
    const side = await linked.commit({ 'ds/a': '' });
    await repository.commit({ 'ds/b': '' });
    expect(await reader.head()).toEqual({ branch: 'refs/heads/side', revision: side });
    await linked.git('checkout', '--quiet', '--detach', 'main');
    expect((await reader.head()).branch).toBeNull();
  });

  it('is read from packed-refs without a git process for each read, even if the name has spaces that are not ASCII', async () => {
    const { repository } = await repositoryWithCommit();
    await repository.git('branch', '--move', 'main', 'wide\u3000space\u00a0');
    const revision = await repository.commit({ 'ds/a': '' });
    await repository.git('pack-refs', '--all', '--prune');
    const log = join(await temporaryFolder(), 'log');
    const machine = await machineWith(`echo "$1" >> '${log}'`);
    const source = await openSource(join(repository.folder, 'ds'), null, { machine });
    onTestFinished(() => source.close());
    const head = { branch: 'refs/heads/wide\u3000space\u00a0', revision };
    expect(await source.reader.head()).toEqual(head);
    await writeFile(log, '');
    expect(await source.reader.head()).toEqual(head);
    expect(await readFile(log, 'utf8')).toBe('');
    const written = await publishOne(source, { 'apps/web.yaml': 'container_image: b\n' });
    expect(await source.reader.head()).toEqual({ ...head, revision: written });
  });

  it('is not confused with packed branches whose names begin or end with that of the branch', async () => {
    const { repository, revision } = await repositoryWithCommit();
    for (const name of ['x/main', 'main2', 'refs/heads/main']) {
      await repository.git('switch', '--quiet', '-c', name);
      await repository.commit({ 'ds/a': name });
    }
    await repository.git('tag', '-a', '-m', 'annotated', 'main', 'main2');
    await repository.git('symbolic-ref', 'HEAD', 'refs/heads/main');
    await repository.git('pack-refs', '--all', '--prune');
    const { reader } = await openSource(join(repository.folder, 'ds'));
    expect(await reader.head()).toEqual({ branch: 'refs/heads/main', revision });
  });

  it('is still found after refs and objects were packed', async () => {
    const { repository } = await repositoryWithCommit();
    const { reader } = await openSource(join(repository.folder, 'ds'));
    await reader.head();
    const revision = await repository.commit({ 'ds/a': '' });
    await repository.git('pack-refs', '--all', '--prune');
    expect((await reader.head()).revision).toBe(revision);
    await repository.git('gc', '--quiet', '--prune=now');
    expect((await reader.head()).revision).toBe(revision);
    const next = await repository.commit({ 'ds/b': '' });
    expect((await reader.head()).revision).toBe(next);
  });

  it('rejects as unavailable if the repository is missing', async () => {
    const { repository } = await repositoryWithCommit();
    const { reader } = await openSource(join(repository.folder, 'ds'));
    await reader.head();
    await rm(join(repository.folder, '.git'), { recursive: true });
    await expect(reader.head()).rejects.toMatchObject({ kind: 'unavailable' });
  });
});

describe('folderTree', () => {
  it('is the id of the folder as a tree', async () => {
    const { repository, revision } = await repositoryWithCommit();
    const { reader } = await openSource(join(repository.folder, 'ds'));
    expect(await reader.folderTree(revision)).toBe(await repository.git('rev-parse', `${revision}:ds`));
  });

  it.each([
    ['is missing', async () => undefined],
    ['is a file', (folder: string) => writeFile(join(folder, 'ds'), 'text')],
    [
      'is a symlink to a folder',
      async (folder: string) => {
        await writeFiles(folder, { 'real/apps/web.yaml': 'container_image: a\n' });
        await symlink('real', join(folder, 'ds'));
      },
    ],
    [
      'is a submodule',
      async (folder: string) => {
        const inner = repositoryAt(join(folder, 'ds'));
        await mkdir(inner.folder);
        await inner.git('init', '--quiet');
        await inner.commit({ a: '' });
      },
    ],
  ])('is null if the folder %s at the revision', async (_, prepare) => {
    const repository = await testRepository();
    const { reader } = await openSource(join(repository.folder, 'ds'));
    await prepare(repository.folder);
    expect(await reader.folderTree(await repository.commit({ 'other.txt': '' }))).toBeNull();
  });

  it('is null for a folder below a symlink of the commit', async () => {
    const repository = await testRepository();
    const { reader } = await openSource(join(repository.folder, 'ds'));
    await writeFiles(repository.folder, { 'real/ds/a': '' });
    await symlink('real', join(repository.folder, 'link'));
    const revision = await repository.commit({});
    expect(await reader.folderTree(revision)).toBeNull();
    const through = await openSource(join(repository.folder, 'link/ds'));
    // On disk, the link leads to `real/ds`.
    expect(through.repository.prefix).toBe('real/ds');
    expect(await through.reader.folderTree(revision)).not.toBeNull();
  });

  it.each([
    ['at the top', ''],
    ['deep in the repository', 'a/b c/größe "x"'],
  ])('has only what is in the folder, which is %s', async (_, below) => {
    const repository = await testRepository();
    const path = (name: string): string => (below === '' ? name : `${below}/${name}`);
    const revision = await repository.commit({
      [path('apps/web.yaml')]: 'container_image: a\n',
      [path('x')]: '',
    });
    await repository.commit({ 'else/y': '' });
    const source = await openSource(join(repository.folder, below));
    expect(source.repository.prefix).toBe(below);
    const tree = await source.reader.folderTree(revision);
    expect((await source.reader.list(tree as string)).map((entry) => entry.path)).toEqual([
      'apps/web.yaml',
      'x',
    ]);
  });

  it('rejects as unavailable if the revision is missing, instead of being null', async () => {
    const { repository } = await repositoryWithCommit();
    const { reader } = await openSource(join(repository.folder, 'ds'));
    await expect(reader.folderTree('1'.repeat(40))).rejects.toMatchObject({ kind: 'unavailable' });
  });
});
