import { chmod, open, readdir, rename, symlink, utimes, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { describe, expect, it, onTestFinished, vi } from 'vitest';
import {
  type CommitWriter,
  openCommitWriter,
  PUBLISHING_REF,
} from '../../../../src/source/git/write/commit-writer.ts';
import { writeFiles } from '../../../support/folder.ts';
import { type TestRepository, testRepository } from '../../../support/git.ts';
import { draftOf, notingGit, repositoryOf } from '../support.ts';

const noting = await notingGit();

function writerAt({ folder }: TestRepository, prefix = 'ds'): CommitWriter {
  const writer = openCommitWriter(repositoryOf(folder, prefix));
  onTestFinished(() => writer.close());
  return writer;
}

/** `<mode> <path>` of everything at a revision. */
async function filesAt({ git }: TestRepository, revision: string): Promise<string[]> {
  const lines = (await git('ls-tree', '-r', '-z', revision)).split('\0').filter(Boolean);
  return lines.map((line) => line.replace(/^(\d+) [^\t]*\t/, '$1 '));
}

async function start(files: Record<string, string> = { 'ds/apps/web.yaml': 'a\n' }) {
  const repository = await testRepository();
  return { repository, base: await repository.commit(files), writer: writerAt(repository) };
}

/** The same with a writer that has made a commit, and whose process id `noting` has. */
async function startNoted() {
  const { repository, base } = await start();
  const opened = repositoryOf(repository.folder, 'ds');
  const writer = openCommitWriter({ ...opened, context: noting.use(opened.context) });
  onTestFinished(() => writer.close());
  await writer.write(base, [draftOf({ 'apps/a.yaml': 'a' })]);
  return { repository, base, writer };
}

/** Crash reports and `.keep` files in the git folder. */
async function leftoversOf({ folder }: TestRepository): Promise<string[]> {
  const git = join(folder, '.git');
  const names = [...(await readdir(git)), ...(await readdir(join(git, 'objects/pack')))];
  return names.filter((name) => /crash|keep$/.test(name));
}

describe('a writer', () => {
  it('that is closed after .git was moved away creates nothing in its place', async () => {
    const { repository, base, writer } = await start();
    await writer.write(base, [draftOf({ 'apps/web.yaml': 'b\n' })]);
    await rename(join(repository.folder, '.git'), join(repository.folder, 'away'));
    await writer.close();
    expect(await readdir(repository.folder)).not.toContain('.git');
  });
});

describe('a commit', () => {
  it('has its own content if several are requested at once', async () => {
    const { repository, base, writer } = await start();
    const texts = ['one\n', 'two\n', 'three\n'];
    const made = await Promise.all(
      texts.map((text) => writer.write(base, [draftOf({ 'apps/web.yaml': text }, { message: text })])),
    );
    const shown = made.map(([id = '']) => repository.show('ds/apps/web.yaml', id));
    expect(await Promise.all(shown)).toEqual(texts);
    expect(await readdir(join(repository.folder, '.git'))).not.toContainEqual(expect.stringMatching(/crash/));
  });

  it('has the texts and author of the draft, the base as its parent, and moves no branch', async () => {
    const { repository, base, writer } = await start();
    const draft = draftOf(
      { 'apps/web.yaml': 'b\n' },
      { message: 'subject\n\nTrailer: 1\n', at: 1_700_000_000_999 },
    );
    const [id = ''] = await writer.write(base, [draft]);
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
    const [id = ''] = await writer.write(base, [draftOf(edits)]);
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
    const [id = ''] = await writer.write(base, [draftOf({ 'apps/team/a.yaml': null })]);
    expect(await repository.git('ls-tree', '-r', '-t', '--name-only', id)).toBe('else.txt');
  });

  it('that deletes everything has the empty tree', async () => {
    const { repository, base, writer } = await start({ 'ds/a': 'a' });
    const [id = ''] = await writer.write(base, [draftOf({ a: null })]);
    expect(await repository.git('ls-tree', '-r', id)).toBe('');
  });

  it('without a base has no parent, even after one with a base', async () => {
    const { repository, base, writer } = await start();
    await writer.write(base, [draftOf({ x: '1' })]);
    const [id = ''] = await writer.write(null, [draftOf({ 'apps/a.yaml': 'a' })]);
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
    const [id = ''] = await writer.write(base, [
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
    { name: 'no content', text: '' },
    { name: 'no final line break', text: 'a' },
    { name: 'a line that looks like a command', text: 'a\n\ncommit refs/heads/main\ndone\n' },
    { name: 'line breaks of every kind', text: 'a\r\nb\rc\n\n\n' },
    { name: 'characters of several bytes', text: 'größe: "日本 😀"\n' },
    { name: 'a NUL byte', text: 'a\0b' },
    { name: 'more than a pipe holds', text: 'x'.repeat(300_000) },
  ])('stores a file with $name unchanged', async ({ text }) => {
    const { repository, base, writer } = await start();
    const [id = ''] = await writer.write(base, [draftOf({ 'apps/web.yaml': text })]);
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
    const [id = '', then = ''] = await writer.write(base, [
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
      details: { paths: ['apps/\ufffd/web.yaml'] },
    });
  });

  it.each([
    { name: 'plain', author: { name: 'Olga', email: 'o@x' }, line: 'Olga <o@x>' },
    { name: 'with < and >', author: { name: 'O <x> a', email: '<o@x>' }, line: 'O x a <o@x>' },
    {
      name: 'with a line break',
      author: { name: 'O\nlga\ncommitter x', email: 'o\n@x' },
      line: 'Olgacommitter x <o@x>',
    },
    { name: 'empty', author: { name: '', email: '' }, line: 'unknown <>' },
    { name: 'with removed characters only', author: { name: ' <>\n', email: '\0' }, line: 'unknown <>' },
    { name: 'in other alphabets', author: { name: 'Ölga 日本', email: 'ö@x' }, line: 'Ölga 日本 <ö@x>' },
    {
      name: 'with an unpaired surrogate',
      author: { name: 'a\ud800b', email: 'x' },
      line: 'a\ufffdb <x>',
    },
  ])('has a valid author line for an author $name', async ({ author, line }) => {
    const { repository, base, writer } = await start();
    const [id = ''] = await writer.write(base, [draftOf({ a: '' }, { author })]);
    expect(await repository.git('cat-file', 'commit', id)).toContain(`\nauthor ${line} 1700000000 +0000\n`);
    await repository.git('fsck', '--strict');
  });

  it.each([
    { name: 'below the prefix', prefix: 'a b/c', path: 'a b/c/apps/x.yaml' },
    { name: 'at the top for an empty prefix', prefix: '', path: 'apps/x.yaml' },
  ])('has its files $name', async ({ prefix, path }) => {
    const { repository, base } = await start();
    const writer = writerAt(repository, prefix);
    const [id = ''] = await writer.write(base, [draftOf({ 'apps/x.yaml': '' })]);
    expect(await filesAt(repository, id)).toEqual([`100644 ${path}`, '100644 ds/apps/web.yaml'].sort());
  });
});

describe('a batch of drafts', () => {
  it('becomes one commit for each draft, in order, even if they change the same file', async () => {
    const { repository, base, writer } = await start();
    const drafts = Array.from({ length: 64 }, (_, index) =>
      draftOf({ 'apps/web.yaml': `${index}\n`, [`apps/${index}.yaml`]: '' }, { message: `m${index}\n` }),
    );
    const ids = await writer.write(base, drafts);
    expect((await repository.git('rev-list', '--reverse', `${base}..${ids[63]}`)).split('\n')).toEqual(ids);
    expect(
      (await repository.git('log', '--reverse', '--format=%s', `${base}..${ids[63]}`)).split('\n'),
    ).toEqual(drafts.map((_, index) => `m${index}`));
    expect(await repository.show('ds/apps/web.yaml', ids[30])).toBe('30\n');
    expect(await filesAt(repository, ids[63] as string)).toHaveLength(65);
  });

  it('starts from the given base, not from the last commit that was written', async () => {
    const { repository, base, writer } = await start();
    const [unpublished = ''] = await writer.write(base, [draftOf({ 'apps/lost.yaml': 'x' })]);
    const pushed = await repository.commit({ 'ds/apps/pushed.yaml': 'p' });
    const [id = ''] = await writer.write(pushed, [draftOf({ 'apps/next.yaml': 'n' })]);
    expect(await repository.git('rev-parse', `${id}^`)).toBe(pushed);
    expect(await filesAt(repository, id)).toEqual(
      ['next', 'pushed', 'web'].map((name) => `100644 ds/apps/${name}.yaml`),
    );
    expect(unpublished).not.toBe(id);
  });
});

describe('a path that collides with an existing one', () => {
  it.each([
    {
      name: 'the file is a folder',
      files: { 'ds/apps/x.yaml/inner': '' },
      path: 'apps/x.yaml',
      inTheWay: 'ds/apps/x.yaml',
    },
    {
      name: 'its folder is a file',
      files: { 'ds/apps': 'file' },
      path: 'apps/x.yaml',
      inTheWay: 'ds/apps',
    },
    { name: 'the prefix is a file', files: { ds: 'file' }, path: 'apps/x.yaml', inTheWay: 'ds' },
  ])('is refused with both names ($name)', async ({ files, path, inTheWay }) => {
    const { base, writer } = await start(files as unknown as Record<string, string>);
    await expect(writer.write(base, [draftOf({ [path]: '' })])).rejects.toMatchObject({
      kind: 'conflict',
      message: expect.stringContaining(`${inTheWay} is in the way of`),
      details: { paths: [path] },
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
    const [id = ''] = await writer.write(base, [draftOf({ 'apps/b.yaml': '' })]);
    expect(await repository.git('rev-list', `${base}..${id}`)).toBe(id);
    expect(await filesAt(repository, id)).toEqual(['100644 ds/apps/b.yaml', '100644 ds/apps/x.yaml/inner']);
  });
});

describe('the fast-import process', () => {
  it.each([
    { name: 'gc', args: ['gc', '--quiet'] },
    { name: 'repack', args: ['repack', '-a', '-d', '-f', '--quiet'] },
  ])('keeps working after git $name removed the packs that it knows', async ({ args }) => {
    const { repository, base, writer } = await start();
    const [first = ''] = await writer.write(base, [draftOf({ 'apps/a.yaml': 'a', 'apps/b.yaml': 'b' })]);
    await repository.git('reset', '--quiet', '--hard', first);
    await repository.git(...args);
    const [second = ''] = await writer.write(first, [draftOf({ 'apps/a.yaml': 'c', 'apps/web.yaml': 'b' })]);
    expect(await filesAt(repository, second)).toHaveLength(3);
    await repository.git('fsck', '--strict', second);
  });

  it('is replaced if a cleanup removed even its unfinished pack, and leaves nothing behind', async () => {
    const { repository, base, writer } = await start();
    await writer.write(base, [draftOf({ 'apps/a.yaml': 'a' })]);
    await repository.git('gc', '--quiet', '--prune=now');
    const [id = ''] = await writer.write(base, [draftOf({ 'apps/a.yaml': 'b' })]);
    expect(await repository.show('ds/apps/a.yaml', id)).toBe('b');
    await writer.close();
    expect(await leftoversOf(repository)).toEqual([]);
  });

  it('is replaced after it was killed: the next write succeeds, and nothing is left behind', async () => {
    const { repository, base, writer } = await startNoted();
    process.kill((await noting.last()) as number, 'SIGKILL');
    const [id = ''] = await writer.write(base, [draftOf({ 'apps/a.yaml': 'b' })]);
    expect(await filesAt(repository, id)).toHaveLength(2);
    await writer.close();
    expect(await leftoversOf(repository)).toEqual([]);
  });

  it('is replaced after it was killed, and .keep files of others stay', async () => {
    const { repository, base, writer } = await startNoted();
    const killed = (await noting.last()) as number;
    await writeFile(join(repository.folder, '.git/objects/pack/pack-1.keep'), 'release 1.0');
    process.kill(killed, 'SIGKILL');
    await writer.write(base, [draftOf({ 'apps/a.yaml': 'b' })]);
    await writer.close();
    expect(await leftoversOf(repository)).toEqual(['pack-1.keep']);
  });

  it('is replaced after it was killed, and empty crash reports and old half packs of earlier ones are removed', async () => {
    const { repository, base, writer } = await startNoted();
    const git = join(repository.folder, '.git');
    await writeFile(join(git, 'fast_import_crash_4711'), '');
    await writeFile(
      join(git, 'fast_import_crash_4712'),
      'fast-import crash report:\n    parent process: 1\n',
    );
    for (const name of ['tmp_pack_full', 'tmp_idx_full']) {
      await writeFile(join(git, 'objects/pack', name), 'PACK');
      await utimes(join(git, 'objects/pack', name), new Date(0), new Date(0));
    }
    process.kill((await noting.last()) as number, 'SIGKILL');
    await writer.write(base, [draftOf({ 'apps/a.yaml': 'b' })]);
    await writer.close();
    expect(await leftoversOf(repository)).toEqual(['fast_import_crash_4712']);
    const packs = await readdir(join(git, 'objects/pack'));
    expect(packs.filter((name) => name.endsWith('_full'))).toEqual([]);
  });

  it('is replaced after it was killed, and half packs that are young or open stay', async () => {
    const { repository, base, writer } = await startNoted();
    const killed = (await noting.last()) as number;
    const packs = join(repository.folder, '.git/objects/pack');
    const halves = ['old', 'young', 'open'].map((name) => join(packs, `tmp_pack_${name}`));
    for (const half of halves) await writeFile(half, 'PACK');
    const now = Date.now() / 1000;
    // Young enough even if a slow machine takes minutes for what follows.
    const times = [now - 60, now + 600, now - 60];
    for (const [index, half] of halves.entries()) await utimes(half, now, times[index] as number);
    const opened = await open(halves[2] as string);
    onTestFinished(() => opened.close());
    process.kill(killed, 'SIGKILL');
    await writer.write(base, [draftOf({ 'apps/a.yaml': 'b' })]);
    const left = (await readdir(packs)).filter((name) => halves.includes(join(packs, name)));
    expect(left.sort()).toEqual(['tmp_pack_open', 'tmp_pack_young']);
  });

  it('ends after 30 seconds without work, and is started again by the next write', async () => {
    vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout'] });
    onTestFinished(() => void vi.useRealTimers());
    const { repository, base, writer } = await start();
    const [first = ''] = await writer.write(base, [draftOf({ a: '1' })]);
    await vi.advanceTimersByTimeAsync(30_000);
    const [second = ''] = await writer.write(first, [draftOf({ a: '2' })]);
    expect(await repository.git('rev-parse', `${second}^`)).toBe(first);
  });
});
