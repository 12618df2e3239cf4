import { mkdir, readFile, rename, rm, symlink, writeFile } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { describe, expect, it, onTestFinished } from 'vitest';
import { openCheckout } from '../../../../src/source/git/checkout.ts';
import { temporaryFolder, writeFiles } from '../../../support/folder.ts';
import { repositoryAt, type TestRepository, testRepository } from '../../../support/git.ts';
import { MACHINE, newRepository, openSource, publishOne } from '../support.ts';

async function repositoryWithCommit(): Promise<{ repository: TestRepository; revision: string }> {
  const repository = await testRepository();
  return { repository, revision: await repository.commit({ 'ds/apps/web.yaml': 'container_image: a\n' }) };
}

function objectFile(folder: string, id: string): string {
  return join(folder, '.git/objects', id.slice(0, 2), id.slice(2));
}

describe('head', () => {
  it('is the branch that is checked out, and follows it to another one', async () => {
    const { repository, revision } = await repositoryWithCommit();
    const { reader } = await openSource(join(repository.folder, 'ds'));
    expect(await reader.head()).toEqual({ branch: 'refs/heads/main', revision });
    await repository.git('switch', '--quiet', '-c', 'team/größe');
    const second = await repository.commit({ 'ds/a': '' });
    expect(await reader.head()).toEqual({ branch: 'refs/heads/team/größe', revision: second });
    await repository.git('switch', '--quiet', 'main');
    expect(await reader.head()).toEqual({ branch: 'refs/heads/main', revision });
  });

  it('has no branch while it is detached', async () => {
    const { repository, revision } = await repositoryWithCommit();
    await repository.commit({ 'ds/a': '' });
    const { reader } = await openSource(join(repository.folder, 'ds'));
    await repository.git('checkout', '--quiet', revision);
    expect(await reader.head()).toEqual({ branch: null, revision });
  });

  it('has no revision on a branch without a commit', async () => {
    const repository = await testRepository();
    await mkdir(join(repository.folder, 'ds'));
    const { reader } = await openSource(join(repository.folder, 'ds'));
    expect(await reader.head()).toEqual({ branch: 'refs/heads/main', revision: null });
    const revision = await repository.commit({ 'ds/a': '' });
    expect(await reader.head()).toEqual({ branch: 'refs/heads/main', revision });
  });

  it.each<[string, (repository: TestRepository, revision: string) => Promise<unknown>]>([
    ['is missing', ({ folder }, revision) => rm(objectFile(folder, revision))],
    ['was emptied by a loss of power', ({ folder }) => writeFile(join(folder, '.git/refs/heads/main'), '')],
  ])('of a branch whose commit %s cannot be told, and is no branch without a commit', async (_, damage) => {
    const { repository, revision } = await repositoryWithCommit();
    await damage(repository, revision);
    const { reader } = await openSource(join(repository.folder, 'ds'));
    await expect(reader.head()).rejects.toMatchObject({
      kind: 'unavailable',
      message: 'the commit of the branch "main" cannot be read: it is missing or damaged; see git fsck',
    });
  });

  it('of a branch whose commit is damaged cannot be told', async () => {
    const { repository, revision } = await repositoryWithCommit();
    const file = objectFile(repository.folder, revision);
    await rm(file);
    await writeFile(file, '');
    const { reader } = await openSource(join(repository.folder, 'ds'));
    await expect(reader.head()).rejects.toMatchObject({ kind: 'unavailable' });
  });

  it('is there again with the objects that another repository keeps for this one', async () => {
    const { repository, revision } = await repositoryWithCommit();
    const clone = repositoryAt(join(await temporaryFolder(), 'clone'));
    await repository.git('clone', '--quiet', '--shared', repository.folder, clone.folder);
    const { reader } = await openSource(join(clone.folder, 'ds'));
    await rename(repository.folder, `${repository.folder}.away`);
    await expect(reader.head()).rejects.toMatchObject({ kind: 'unavailable' });
    await rename(`${repository.folder}.away`, repository.folder);
    expect(await reader.head()).toEqual({ branch: 'refs/heads/main', revision });
  });

  it('of another name for a branch without a commit has no revision', async () => {
    const repository = await newRepository();
    await repository.git('symbolic-ref', 'refs/heads/main', 'refs/heads/trunk');
    const { reader } = await openSource(repository.folder);
    expect((await reader.head()).revision).toBeNull();
  });

  it('of another name for a branch is that of the branch, also where a space that is not ASCII ends its name', async () => {
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

  it('is a fixed branch whatever is checked out', async () => {
    const { repository, revision } = await repositoryWithCommit();
    const { reader } = await openSource(join(repository.folder, 'ds'), 'main');
    await repository.git('switch', '--quiet', '-c', 'other');
    await repository.commit({ 'ds/a': '' });
    expect(await reader.head()).toEqual({ branch: 'refs/heads/main', revision });
    await repository.git('checkout', '--quiet', '--detach');
    expect(await reader.head()).toEqual({ branch: 'refs/heads/main', revision });
  });

  it('of a fixed branch that is not there has no revision while there is no branch at all', async () => {
    const repository = await newRepository();
    const { reader } = await openSource(join(repository.folder, 'ds'), 'none');
    expect(await reader.head()).toEqual({ branch: 'refs/heads/none', revision: null });
  });

  it('of a fixed branch that is not there, beside others, cannot be told', async () => {
    const { repository } = await repositoryWithCommit();
    const { reader } = await openSource(join(repository.folder, 'ds'), 'none');
    await expect(reader.head()).rejects.toMatchObject({
      kind: 'unavailable',
      message: expect.stringMatching(/has no branch "none"; check GIT_BRANCH.*there are: main/),
    });
  });

  it('of a linked work tree is that of its own branch', async () => {
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

  it('of a packed branch is read without a process for each look, also with wide spaces in its name', async () => {
    const { repository } = await repositoryWithCommit();
    await repository.git('branch', '--move', 'main', 'wide\u3000space\u00a0');
    const revision = await repository.commit({ 'ds/a': '' });
    await repository.git('pack-refs', '--all', '--prune');
    const noted = join(await temporaryFolder(), 'git');
    const path = process.env['PATH'];
    await writeFile(noted, `#!/bin/sh\necho "$1" >> "${noted}.calls"\nPATH='${path}' exec git "$@"\n`, {
      mode: 0o755,
    });
    const machine = { ...MACHINE, env: { PATH: `${dirname(noted)}:${path}` } };
    const source = await openCheckout(join(repository.folder, 'ds'), null, machine);
    onTestFinished(() => source.close());
    const head = { branch: 'refs/heads/wide\u3000space\u00a0', revision };
    expect(await source.reader.head()).toEqual(head);
    expect(await source.reader.head()).toEqual(head);
    expect(await readFile(`${noted}.calls`, 'utf8')).not.toContain('for-each-ref');
    const written = await publishOne(source, { 'apps/web.yaml': 'container_image: b\n' });
    expect(await source.reader.head()).toEqual({ ...head, revision: written });
  });

  it('of a packed branch is not that of one whose name begins or ends with its name', async () => {
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

  it('is found again after the refs were packed and the objects with them', async () => {
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

  it('cannot be read when the repository is gone', async () => {
    const { repository } = await repositoryWithCommit();
    const { reader } = await openSource(join(repository.folder, 'ds'));
    await reader.head();
    await rm(join(repository.folder, '.git'), { recursive: true });
    await expect(reader.head()).rejects.toMatchObject({ kind: 'unavailable' });
  });
});

describe('folder', () => {
  it('is its tree', async () => {
    const { repository, revision } = await repositoryWithCommit();
    const { reader } = await openSource(join(repository.folder, 'ds'));
    expect(await reader.folderTree(revision)).toBe(await repository.git('rev-parse', `${revision}:ds`));
  });

  it.each([
    { name: 'is missing', prepare: async () => undefined },
    { name: 'is a file', prepare: (folder: string) => writeFile(join(folder, 'ds'), 'text') },
    {
      name: 'is a symlink to a folder',
      prepare: async (folder: string) => {
        await writeFiles(folder, { 'real/apps/web.yaml': 'container_image: a\n' });
        await symlink('real', join(folder, 'ds'));
      },
    },
    {
      name: 'is a submodule',
      prepare: async (folder: string) => {
        const inner = repositoryAt(join(folder, 'ds'));
        await mkdir(inner.folder);
        await inner.git('init', '--quiet');
        await inner.commit({ a: '' });
      },
    },
  ])('that $name at a revision is not there', async ({ prepare }) => {
    const repository = await testRepository();
    const { reader } = await openSource(join(repository.folder, 'ds'));
    await prepare(repository.folder);
    expect(await reader.folderTree(await repository.commit({ 'other.txt': '' }))).toBeNull();
  });

  it('below a symlink is not there', async () => {
    const repository = await testRepository();
    const { reader } = await openSource(join(repository.folder, 'ds'));
    await writeFiles(repository.folder, { 'real/ds/a': '' });
    await symlink('real', join(repository.folder, 'link'));
    const revision = await repository.commit({});
    expect(await reader.folderTree(revision)).toBeNull();
    const through = await openSource(join(repository.folder, 'link/ds'));
    // The folder of the disk is meant: behind the link lies `real/ds`.
    expect(through.repository.prefix).toBe('real/ds');
    expect(await through.reader.folderTree(revision)).not.toBeNull();
  });

  it.each([
    { name: 'at the top', below: '', prefix: '' },
    { name: 'deep down', below: 'a/b c/größe "x"', prefix: 'a/b c/größe "x"' },
  ])('$name has only what is in it', async ({ below, prefix }) => {
    const repository = await testRepository();
    const path = (name: string): string => (below === '' ? name : `${below}/${name}`);
    const revision = await repository.commit({
      [path('apps/web.yaml')]: 'container_image: a\n',
      [path('x')]: '',
    });
    await repository.commit({ 'else/y': '' });
    const source = await openSource(join(repository.folder, below));
    expect(source.repository.prefix).toBe(prefix);
    const tree = await source.reader.folderTree(revision);
    expect((await source.reader.list(tree as string)).map((entry) => entry.path)).toEqual([
      'apps/web.yaml',
      'x',
    ]);
  });

  it('of a revision that is gone cannot be read, which is something else than not there', async () => {
    const { repository } = await repositoryWithCommit();
    const { reader } = await openSource(join(repository.folder, 'ds'));
    await expect(reader.folderTree('1'.repeat(40))).rejects.toMatchObject({ kind: 'unavailable' });
  });
});

describe('commit', () => {
  it.each([
    { name: 'a subject', message: 'one line', has: 'one line\n' },
    {
      name: 'body and trailers',
      message: 'one\n\ntwo\n\nAllow-Empty: true',
      has: 'one\n\ntwo\n\nAllow-Empty: true\n',
    },
    {
      name: 'lines that look like a header',
      message: 'x\n\ncommitter A <a@b> 5 +0000',
      has: 'x\n\ncommitter A <a@b> 5 +0000\n',
    },
    { name: 'letters of several bytes', message: 'größe 😀', has: 'größe 😀\n' },
  ])('has its message with $name', async ({ message, has }) => {
    const repository = await testRepository();
    const revision = await repository.commit({ a: '' }, message);
    const { reader } = await openSource(repository.folder);
    const time = Number(await repository.git('log', '-1', '--format=%ct'));
    expect(await reader.commit(revision)).toEqual({ time, authored: time, parents: [], message: has });
  });

  it('has its parents, and keeps the time of its author when it is made again', async () => {
    const repository = await testRepository();
    const first = await repository.commit({ a: '' });
    await repository.commit({ a: 'x' });
    await repository.git('commit', '--amend', '--quiet', '--date=2001-01-01T00:00:00Z', '-m', 'again');
    const { reader } = await openSource(repository.folder);
    const { authored, time, parents } = await reader.commit(await repository.git('rev-parse', 'HEAD'));
    expect({ authored, parents }).toEqual({ authored: 978_307_200, parents: [first] });
    expect(time).toBeGreaterThan(authored);
  });

  it('without a message has an empty one', async () => {
    const repository = await testRepository();
    await repository.commit({ a: '' });
    await repository.git('commit', '--quiet', '--allow-empty', '--allow-empty-message', '-m', '');
    const { reader } = await openSource(repository.folder);
    expect(await reader.commit(await repository.git('rev-parse', 'HEAD'))).toMatchObject({ message: '' });
  });

  it('that is not there cannot be read', async () => {
    const { repository } = await repositoryWithCommit();
    const { reader } = await openSource(repository.folder);
    await expect(reader.commit('1'.repeat(40))).rejects.toMatchObject({ kind: 'unavailable' });
  });
});

describe('commonAncestor', () => {
  it('is the newest commit of both, in every relation that two can have', async () => {
    const repository = await testRepository();
    const { git } = repository;
    const first = await repository.commit({ a: '1' });
    const second = await repository.commit({ a: '2' });
    const third = await repository.commit({ a: '3' });
    await git('switch', '--quiet', '-c', 'side', first);
    const side = await repository.commit({ b: '1' });
    await git('switch', '--quiet', '--orphan', 'other');
    const other = await repository.commit({ c: '1' });
    const { reader } = await openSource(repository.folder);
    const rows: [string, string, string, string | null][] = [
      ['the same', third, third, third],
      ['the parent', second, third, second],
      ['an ancestor', first, third, first],
      ['a descendant', third, first, first],
      ['diverged', third, side, first],
      ['unrelated', third, other, null],
      ['not here', 'a'.repeat(40), third, null],
    ];
    for (const [name, one, two, expected] of rows)
      expect([name, await reader.commonAncestor(one, two)]).toEqual([name, expected]);
  });
});
