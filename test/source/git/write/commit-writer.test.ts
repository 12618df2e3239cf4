import { chmod, readdir, symlink } from 'node:fs/promises';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { PUBLISHING_REF } from '../../../../src/source/git/write/commit-writer.ts';
import { writeFiles } from '../../../support/folder.ts';
import { draftOf } from '../support.ts';
import { filesAt, start, writerAt } from './commit-writer-support.ts';

describe('a commit', () => {
  it('has its own content if several are requested at once', async () => {
    const { repository, base, writer } = await start();
    const texts = ['one\n', 'two\n', 'three\n'];
    const made = await Promise.all(
      texts.map((text) => writer.write(base, [draftOf({ 'apps/web.yaml': text }, { message: text })])),
    );
    const shown = made.map(({ commits: [id = ''] }) => repository.show('ds/apps/web.yaml', id));
    expect(await Promise.all(shown)).toEqual(texts);
    expect(await readdir(join(repository.folder, '.git'))).not.toContainEqual(expect.stringMatching(/crash/));
  });

  it('has the texts and author of the draft, the base as its parent, and moves no branch', async () => {
    const { repository, base, writer } = await start();
    const draft = draftOf(
      { 'apps/web.yaml': 'b\n' },
      { message: 'subject\n\nTrailer: 1\n', at: 1_700_000_000_999 },
    );
    const {
      commits: [id = ''],
    } = await writer.write(base, [draft]);
    expect(await repository.git('cat-file', 'commit', id)).toBe(
      [
        `tree ${await repository.git('rev-parse', `${id}^{tree}`)}`,
        `parent ${base}`,
        'author Olga <olga@example.com> 1700000000 +0000',
        'committer Holdfast <holdfast@holdfast.invalid> 1700000000 +0000',
        '',
        'subject\n\nTrailer: 1',
      ].join('\n'),
    );
    expect(await repository.show('ds/apps/web.yaml', id)).toBe('b\n');
    expect(await repository.git('rev-parse', 'main')).toBe(base);
    expect(await repository.git('status', '--porcelain')).toBe('');
    expect(await repository.git('rev-parse', PUBLISHING_REF)).toBe(id);
  });

  it('of several files, some new, some deleted, changes nothing else', async () => {
    const { repository, base, writer } = await start({
      'ds/apps/a.yaml': 'a',
      'ds/apps/b.yaml': 'b',
      'else.txt': 'e',
    });
    const edits = {
      'apps/a.yaml': null,
      'apps/b.yaml': 'B',
      'apps/deep/er/c.yaml': 'c',
      'device-groups/g.yaml': '',
    };
    const {
      commits: [id = ''],
    } = await writer.write(base, [draftOf(edits)]);
    expect(await filesAt(repository, id)).toEqual([
      '100644 ds/apps/b.yaml',
      '100644 ds/apps/deep/er/c.yaml',
      '100644 ds/device-groups/g.yaml',
      '100644 else.txt',
    ]);
    expect(await repository.git('ls-tree', '--name-only', `${id}:ds`)).toBe('apps\ndevice-groups');
  });

  it('that deletes the last file of a folder leaves no empty folder in the tree', async () => {
    const { repository, base, writer } = await start({ 'ds/apps/team/a.yaml': 'a', 'else.txt': 'e' });
    const {
      commits: [id = ''],
    } = await writer.write(base, [draftOf({ 'apps/team/a.yaml': null })]);
    expect(await repository.git('ls-tree', '-r', '-t', '--name-only', id)).toBe('else.txt');
  });

  it('that deletes everything has the empty tree', async () => {
    const { repository, base, writer } = await start({ 'ds/a': 'a' });
    const {
      commits: [id = ''],
    } = await writer.write(base, [draftOf({ a: null })]);
    expect(await repository.git('ls-tree', '-r', id)).toBe('');
  });

  it('without a base has no parent, even after one with a base', async () => {
    const { repository, base, writer } = await start();
    await writer.write(base, [draftOf({ x: '1' })]);
    const {
      commits: [id = ''],
    } = await writer.write(null, [draftOf({ 'apps/a.yaml': 'a' })]);
    expect(await repository.git('rev-list', '--parents', id)).toBe(id);
    expect(await filesAt(repository, id)).toEqual(['100644 ds/apps/a.yaml']);
  });

  it('on a base that does not exist is refused', async () => {
    const { writer } = await start();
    await expect(writer.write('1'.repeat(40), [draftOf({ a: '' })])).rejects.toThrow();
  });

  it('keeps the executable bit of a file, and replaces a symlink by a regular file', async () => {
    const { repository, writer } = await start();
    await writeFiles(repository.folder, { 'ds/apps/run.yaml': 'x' });
    await chmod(join(repository.folder, 'ds/apps/run.yaml'), 0o755);
    await symlink('web.yaml', join(repository.folder, 'ds/apps/link.yaml'));
    const base = await repository.commit({});
    const {
      commits: [id = ''],
    } = await writer.write(base, [
      draftOf({ 'apps/run.yaml': 'y', 'apps/link.yaml': 'z', 'apps/n.yaml': 'n' }),
    ]);
    expect(await filesAt(repository, id)).toEqual([
      '100644 ds/apps/link.yaml',
      '100644 ds/apps/n.yaml',
      '100755 ds/apps/run.yaml',
      '100644 ds/apps/web.yaml',
    ]);
  });

  it.each([
    ['no content', ''],
    ['no final line break', 'a'],
    ['a line that looks like a command', 'a\n\ncommit refs/heads/main\ndone\n'],
    ['line breaks of every kind', 'a\r\nb\rc\n\n\n'],
    ['characters of several bytes', 'größe: "日本 😀"\n'],
    ['a NUL byte', 'a\0b'],
    ['more than a pipe holds', 'x'.repeat(300_000)],
  ])('stores a file with %s unchanged', async (_, text) => {
    const { repository, base, writer } = await start();
    const {
      commits: [id = ''],
    } = await writer.write(base, [draftOf({ 'apps/web.yaml': text })]);
    expect((await repository.show('ds/apps/web.yaml', id)) === text).toBe(true);
  });

  it.each([
    'with space.yaml',
    'quote".yaml',
    'back\\slash.yaml',
    'new\nline.yaml',
    'tab\t.yaml',
    'größe 日本.yaml',
    '-dash.yaml',
    '"quoted"',
    '\\n.yaml',
    'trailing ',
  ])('can have a file named %j', async (name) => {
    const { repository, base, writer } = await start({ [`ds/apps/${name}`]: 'old', 'ds/apps/other': 'o' });
    const {
      commits: [id = '', then = ''],
    } = await writer.write(base, [
      draftOf({ [`apps/${name}`]: 'new' }),
      draftOf({ [`apps/${name}`]: null, [`a ${name}/b`]: 'moved' }),
    ]);
    expect(await repository.show(`ds/apps/${name}`, id)).toBe('new');
    expect(await filesAt(repository, then)).toEqual([`100644 ds/a ${name}/b`, '100644 ds/apps/other']);
  });

  it('is refused if a path has U+FFFD, since the name was not UTF-8 and another file would be written', async () => {
    const { base, writer } = await start();
    await expect(writer.write(base, [draftOf({ 'apps/\ufffd/web.yaml': 'x' })])).rejects.toMatchObject({
      kind: 'conflict',
      details: { paths: ['ds/apps/\ufffd/web.yaml'] },
    });
  });

  it.each([
    ['plain', { name: 'Olga', email: 'o@x' }, 'Olga <o@x>'],
    ['with < and >', { name: 'O <x> a', email: '<o@x>' }, 'O x a <o@x>'],
    ['with a line break', { name: 'O\nlga\ncommitter x', email: 'o\n@x' }, 'Olgacommitter x <o@x>'],
    ['empty', { name: '', email: '' }, 'unknown <>'],
    ['with removed characters only', { name: ' <>\n', email: '\0' }, 'unknown <>'],
    ['in other alphabets', { name: 'Ölga 日本', email: 'ö@x' }, 'Ölga 日本 <ö@x>'],
    ['with an unpaired surrogate', { name: 'a\ud800b', email: 'x' }, 'a\ufffdb <x>'],
  ])('has a valid author line for an author %s', async (_, author, line) => {
    const { repository, base, writer } = await start();
    const {
      commits: [id = ''],
    } = await writer.write(base, [draftOf({ a: '' }, { author })]);
    expect(await repository.git('cat-file', 'commit', id)).toContain(`\nauthor ${line} 1700000000 +0000\n`);
    await repository.git('fsck', '--strict');
  });

  it.each([
    ['below the prefix', 'a b/c', 'a b/c/apps/x.yaml'],
    ['at the top for an empty prefix', '', 'apps/x.yaml'],
  ])('has its files %s', async (_, prefix, path) => {
    const { repository, base } = await start();
    const writer = writerAt(repository, prefix);
    const {
      commits: [id = ''],
    } = await writer.write(base, [draftOf({ 'apps/x.yaml': '' })]);
    expect(await filesAt(repository, id)).toEqual([`100644 ${path}`, '100644 ds/apps/web.yaml'].sort());
  });
});

it('a commit writer names all new objects of its commits', async () => {
  const { repository, base, writer } = await start();
  const { commits, objects } = await writer.write(base, [
    draftOf({ 'apps/web.yaml': 'b\n', 'apps/a b/c.yaml': 'c\n' }),
    draftOf({ 'apps/web.yaml': null, 'apps/gone x.yaml': null }),
  ]);
  const range = `${base}..${commits[1]}`;
  const made = (await repository.git('rev-list', '--objects', '--no-object-names', range)).split('\n');
  expect(made).toHaveLength(11);
  expect(made.filter((id) => !objects.has(id))).toEqual([]);
});

describe('a batch of drafts', () => {
  it('becomes one commit for each draft, in order, even if they change the same file', async () => {
    const { repository, base, writer } = await start();
    const drafts = Array.from({ length: 64 }, (_, index) =>
      draftOf({ 'apps/web.yaml': `${index}\n`, [`apps/${index}.yaml`]: '' }, { message: `m${index}\n` }),
    );
    const { commits: ids } = await writer.write(base, drafts);
    expect((await repository.git('rev-list', '--reverse', `${base}..${ids[63]}`)).split('\n')).toEqual(ids);
    expect(
      (await repository.git('log', '--reverse', '--format=%s', `${base}..${ids[63]}`)).split('\n'),
    ).toEqual(drafts.map((_, index) => `m${index}`));
    expect(await repository.show('ds/apps/web.yaml', ids[30])).toBe('30\n');
    expect(await filesAt(repository, ids[63] as string)).toHaveLength(65);
  });

  it('starts from the given base, not from the last commit that was written', async () => {
    const { repository, base, writer } = await start();
    const {
      commits: [unpublished = ''],
    } = await writer.write(base, [draftOf({ 'apps/lost.yaml': 'x' })]);
    const pushed = await repository.commit({ 'ds/apps/pushed.yaml': 'p' });
    const {
      commits: [id = ''],
    } = await writer.write(pushed, [draftOf({ 'apps/next.yaml': 'n' })]);
    expect(await repository.git('rev-parse', `${id}^`)).toBe(pushed);
    expect(await filesAt(repository, id)).toEqual(
      ['next', 'pushed', 'web'].map((name) => `100644 ds/apps/${name}.yaml`),
    );
    expect(unpublished).not.toBe(id);
  });
});

describe('a path that collides with an existing one', () => {
  it.each([
    ['the file is a folder', { 'ds/apps/x.yaml/inner': '' }, 'apps/x.yaml', 'ds/apps/x.yaml'],
    ['its folder is a file', { 'ds/apps': 'file' }, 'apps/x.yaml', 'ds/apps'],
    ['the prefix is a file', { ds: 'file' }, 'apps/x.yaml', 'ds'],
  ])('is refused with both names (%s)', async (_, files, path, inTheWay) => {
    const { base, writer } = await start(files as unknown as Record<string, string>);
    await expect(writer.write(base, [draftOf({ [path]: '' })])).rejects.toMatchObject({
      kind: 'conflict',
      message: expect.stringContaining(`${inTheWay} is in the way of`),
      details: { paths: [`ds/${path}`] },
    });
  });

  it('is refused if its folder is a symlink', async () => {
    const { repository, writer } = await start({ 'ds/real/a': '' });
    await symlink('real', join(repository.folder, 'ds/apps'));
    const base = await repository.commit({});
    await expect(writer.write(base, [draftOf({ 'apps/x.yaml': '' })])).rejects.toMatchObject({
      kind: 'conflict',
    });
  });

  it('leaves nothing of its refused batch to the next commit', async () => {
    const { repository, base, writer } = await start({ 'ds/apps/x.yaml/inner': '' });
    const drafts = [draftOf({ 'apps/a.yaml': '' }), draftOf({ 'apps/x.yaml': '' })];
    await expect(writer.write(base, drafts)).rejects.toMatchObject({ kind: 'conflict' });
    const {
      commits: [id = ''],
    } = await writer.write(base, [draftOf({ 'apps/b.yaml': '' })]);
    expect(await repository.git('rev-list', `${base}..${id}`)).toBe(id);
    expect(await filesAt(repository, id)).toEqual(['100644 ds/apps/b.yaml', '100644 ds/apps/x.yaml/inner']);
  });
});
