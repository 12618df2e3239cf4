import { mkdir, rm, symlink, writeFile } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import fc from 'fast-check';
import { afterAll, describe, expect, it } from 'vitest';
import type { TreeEntry } from '../../../../src/desired/entry.ts';
import type { TreeChange } from '../../../../src/ids/ids-reader.ts';
import { openClone } from '../../../../src/source/git/clone/clone.ts';
import { plumbingOf } from '../../../support/plumbing.ts';
import { draftOf, folderOfFile, MACHINE, newRepository, openSource, repositoryOfFile } from '../support.ts';

const repository = await repositoryOfFile();
await mkdir(join(repository.folder, 'ds'));
const source = await openClone({
  folder: join(repository.folder, 'ds'),
  branch: null,
  machine: MACHINE,
  dataFolder: await folderOfFile(),
});
afterAll(() => source.reader.close());

/** Settings of a submodule whose changes git does not show. */
const MODULES = '[submodule "sub"]\n\tpath = apps/sub.yaml\n\turl = /nowhere\n\tignore = all\n';

/** The files of a random folder by path; `text` is the content, or the target of a link. */
type Files = Readonly<Record<string, { kind: 'file' | 'link' | 'program'; text: string }>>;

const segment = fc.constantFrom('apps', 'a', 'b', 'web.yaml', 'größe', 'x y', '-d', 'n\nl');
const files: fc.Arbitrary<Files> = fc
  .uniqueArray(
    fc.tuple(
      fc.array(segment, { minLength: 1, maxLength: 3 }).map((parts) => parts.join('/')),
      fc.record({
        kind: fc.constantFrom('file' as const, 'file' as const, 'link' as const, 'program' as const),
        text: fc.constantFrom('one', 'two', 'three'),
      }),
    ),
    { maxLength: 8, selector: ([path]) => path },
  )
  .map((entries) => Object.fromEntries(withoutCollisions(entries)));

/** Drops files whose path is a folder of another file. */
function withoutCollisions<T>(entries: [string, T][]): [string, T][] {
  return entries.filter(([path]) => !entries.some(([other]) => other.startsWith(`${path}/`)));
}

/** Replaces the folder's files by these and commits; resolves to the commit. */
async function commitFiles(wanted: Files): Promise<string> {
  const folder = join(repository.folder, 'ds');
  await rm(folder, { recursive: true, force: true });
  for (const [path, { kind, text }] of Object.entries(wanted)) {
    await mkdir(dirname(join(folder, path)), { recursive: true });
    if (kind === 'link') await symlink(text, join(folder, path));
    else await writeFile(join(folder, path), text, { mode: kind === 'program' ? 0o755 : 0o644 });
  }
  await mkdir(folder, { recursive: true });
  await writeFile(join(folder, 'always'), '');
  return repository.commit({}, 'random');
}

/** The entries of a tree after changes. */
function apply(before: readonly TreeEntry[], changes: readonly TreeChange[]): TreeEntry[] {
  const entries = new Map(before.map((entry) => [entry.path, entry]));
  for (const { path, entry } of changes) {
    if (entry === null) expect(entries.delete(path)).toBe(true);
    else entries.set(path, entry);
  }
  return [...entries.values()];
}

const byPath = (entries: readonly TreeEntry[]): TreeEntry[] =>
  [...entries].sort((a, b) => (a.path < b.path ? -1 : 1));

async function treeOf(revision: string): Promise<string> {
  return (await source.reader.folderTree(revision)) as string;
}

describe('changes', () => {
  it('lead from the entries of one tree to those of the other (random trees)', async () => {
    await fc.assert(
      fc.asyncProperty(files, files, async (one, other) => {
        const [from, to] = [await treeOf(await commitFiles(one)), await treeOf(await commitFiles(other))];
        const [before, after] = [await source.reader.list(from), await source.reader.list(to)];
        expect(before.map(({ path }) => path)).toHaveLength(Object.keys(one).length + 1);
        expect(byPath(apply(before, (await source.reader.changes(from, to)) ?? []))).toEqual(byPath(after));
        expect(byPath(apply(after, (await source.reader.changes(to, from)) ?? []))).toEqual(byPath(before));
      }),
      { numRuns: 25 },
    );
  });

  it('are empty between a tree and itself', async () => {
    const tree = await treeOf(await commitFiles({ a: { kind: 'file', text: 'one' } }));
    expect(await source.reader.changes(tree, tree)).toEqual([]);
  });

  it('of many pairs of trees can be requested concurrently', async () => {
    const trees: string[] = [];
    for (const text of ['1', '2', '3'])
      trees.push(await treeOf(await commitFiles({ a: { kind: 'file', text } })));
    const pairs = Array.from(
      { length: 60 },
      (_, index) => [trees[index % 3], trees[(index + 1) % 3]] as const,
    );
    const answers = await Promise.all(
      pairs.map(([from, to]) => source.reader.changes(from as string, to as string)),
    );
    const blobs = await Promise.all(trees.map(async (tree) => (await source.reader.list(tree))[0]?.blob));
    expect(answers.map((changes) => changes?.[0]?.entry?.blob)).toEqual(
      answers.map((_, index) => blobs[(index + 1) % 3]),
    );
  });

  it('of thousands of files are all returned', async () => {
    const many = Object.fromEntries(
      Array.from({ length: 2000 }, (_, index) => [
        `apps/${index}.yaml`,
        { kind: 'file' as const, text: `${index}` },
      ]),
    );
    const none = await treeOf(await commitFiles({}));
    const all = await treeOf(await commitFiles(many));
    expect(await source.reader.changes(none, all)).toHaveLength(2000);
  });

  it.each([
    ['the commit', [], { '.gitmodules': MODULES }],
    ['the repository', ['diff.ignoreSubmodules', 'all'], {}],
  ])('include a submodule that settings of %s tell git to ignore', async (_, config, files) => {
    const { folder, git, commit } = await newRepository();
    const first = await commit({ 'apps/web.yaml': 'a\n' });
    if (config.length > 0) await git('config', ...config);
    await mkdir(join(folder, 'apps/sub.yaml'));
    await git('update-index', '--add', '--cacheinfo', `160000,${first},apps/sub.yaml`);
    const second = await commit({ ...files, 'apps/web.yaml': 'b\n' });
    const { reader } = await openSource(folder);
    const [before, after] = [await reader.folderTree(first), await reader.folderTree(second)] as [
      string,
      string,
    ];
    const added = { path: 'apps/sub.yaml', type: 'submodule', blob: first };
    expect(await reader.changes(before, after)).toContainEqual({ path: added.path, entry: added });
    expect(await reader.changes(after, before)).toContainEqual({ path: added.path, entry: null });
  });

  it('are null if one of the trees is missing, and the next request is answered', async () => {
    const rewritten = await newRepository();
    const { reader } = await openSource(rewritten.folder);
    const old = (await reader.folderTree(await rewritten.commit({ a: 'one', 'b/c': 'two' }))) as string;
    await rewritten.git('update-ref', '-d', 'HEAD');
    await rewritten.git('rm', '--quiet', '-r', '--cached', '.');
    const now = (await reader.folderTree(await rewritten.commit({ a: 'three' }))) as string;
    await rewritten.git('reflog', 'expire', '--expire=now', '--all');
    await rewritten.git('gc', '--quiet', '--prune=now');
    expect(await reader.changes(old, now)).toBeNull();
    expect(await reader.changes(now, now)).toEqual([]);
  });

  it('are null for trees with more paths than fit into memory, and the next request is answered', async () => {
    const hostile = await newRepository();
    const plumbing = plumbingOf(hostile);
    const file = { mode: '100644', name: 'a', id: plumbing.blob('') };
    const longNames = Array.from({ length: 20 }, (_, index) => `${index}`.padStart(1_000_000, 'a'));
    const id = plumbing.tree(longNames.map((name) => ({ ...file, name })));
    const large = plumbing.tree(
      Array.from({ length: 7 }, (_, index) => ({ mode: '40000', name: `${index}`, id })),
    );
    const { reader } = await openSource(hostile.folder);
    const [empty, small] = [plumbing.tree([]), plumbing.tree([file])];
    expect(await reader.changes(empty, large)).toBeNull();
    expect(await reader.changes(empty, small)).toHaveLength(1);
  });
});

describe('list', () => {
  it('rejects as unavailable if the tree is missing', async () => {
    await expect(source.reader.list('1'.repeat(40))).rejects.toMatchObject({ kind: 'unavailable' });
  });

  it.each(['HEAD', '', '--all'])(
    'rejects %j, which is not the id of a tree, and so does changes',
    async (name) => {
      await expect(source.reader.list(name)).rejects.toMatchObject({ kind: 'internal' });
      await expect(source.reader.changes(name, name)).rejects.toMatchObject({ kind: 'internal' });
    },
  );
});

describe('a repository with the sha256 format', () => {
  it('is read and written like any other', async () => {
    const sha256 = await newRepository('--object-format=sha256');
    const first = await sha256.commit({ 'ds/apps/web.yaml': 'container_image: a\n' });
    const { reader, publisher } = await openSource(join(sha256.folder, 'ds'));
    const head = await reader.head();
    expect(head.revision).toBe(first);
    const [second = ''] = await publisher.publish(head, [
      draftOf({ 'apps/new.yaml': 'container_image: b\n' }),
    ]);
    expect(second).toHaveLength(64);
    const [from, to] = [await reader.folderTree(first), await reader.folderTree(second)] as [string, string];
    const [change] = (await reader.changes(from, to)) ?? [];
    expect(change?.path).toBe('apps/new.yaml');
    expect(await reader.blob(change?.entry?.blob ?? '', 100)).toEqual({
      bytes: Buffer.from('container_image: b\n'),
    });
    expect(await reader.isAncestor(first, second)).toBe(true);
    expect([...(await reader.history()).paths].sort()).toEqual(['apps/new.yaml', 'apps/web.yaml']);
    expect(await sha256.git('status', '--porcelain')).toBe('');
  });

  it('takes its first commit', async () => {
    const sha256 = await newRepository('--object-format=sha256');
    const { reader, publisher } = await openSource(sha256.folder);
    const [only] = await publisher.publish(await reader.head(), [draftOf({ a: 'b' })]);
    expect(await reader.head()).toEqual({ branch: 'refs/heads/main', revision: only });
    expect(await sha256.git('status', '--porcelain')).toBe('');
  });
});

describe('changes from a tree that git itself would not make', () => {
  const plumbing = plumbingOf(repository);
  const [one, two] = [plumbing.blob('one\n'), plumbing.blob('two\n')];
  const file = (name: string, id = one) => ({ mode: '100644', name, id });
  const MANY = Array.from({ length: 200 }, (_, index) => file(`b${1000 + index}.yaml`));
  const VALID = plumbing.tree([file('a.yaml'), file('m.yaml'), file('z.yaml')]);

  it.each([
    ['names a file twice', [file('a.yaml'), file('a.yaml', two), file('m.yaml'), file('z.yaml')]],
    [
      'names one of many files twice',
      [file('a.yaml'), file('a.yaml', two), ...MANY, file('m.yaml'), file('z.yaml')],
    ],
    ['is not in order', [file('z.yaml'), file('m.yaml'), file('a.yaml')]],
  ])('are null if git would call a file deleted that is still there, since a tree %s', async (_, entries) => {
    expect(await source.reader.changes(plumbing.tree(entries), VALID)).toBeNull();
  });

  it.each([
    ['one file', []],
    ['many files', MANY],
  ])('are null if git would call a file added that was there before, beside %s', async (_, more) => {
    const twice = [file('a.yaml'), file('a.yaml', two), ...more, file('m.yaml'), file('z.yaml')];
    expect(await source.reader.changes(VALID, plumbing.tree(twice))).toBeNull();
  });

  it('are those of a valid tree if a file takes the place of a folder, and the reverse', async () => {
    const folder = plumbing.tree([{ mode: '40000', name: 'a.yaml', id: plumbing.tree([file('b')]) }]);
    const flat = plumbing.tree([file('a.yaml')]);
    const paths = async (from: string, to: string) =>
      (await source.reader.changes(from, to))?.map(({ path, entry }) => [path, entry !== null]).sort();
    expect(await paths(folder, flat)).toEqual([
      ['a.yaml', true],
      ['a.yaml/b', false],
    ]);
    expect(await paths(flat, folder)).toEqual([
      ['a.yaml', false],
      ['a.yaml/b', true],
    ]);
  });
});

describe('a folder that cannot be listed', () => {
  const plumbing = plumbingOf(repository);
  const blob = plumbing.blob('one\n');
  const folderAt = (id: string) => plumbing.tree([{ mode: '40000', name: 'apps', id }]);
  const damaged = plumbing.tree([{ mode: '100644', name: 'damaged.yaml', id: blob }]);

  it.each([
    ['a file that its tree calls a folder', folderAt(blob), undefined],
    ['a missing folder', folderAt('1'.repeat(40)), undefined],
    ['a damaged folder', folderAt(damaged), damaged],
  ])('is unavailable, with the reason: %s', async (_, tree, object) => {
    if (object !== undefined) {
      const path = join(repository.folder, '.git/objects', object.slice(0, 2), object.slice(2));
      await rm(path);
      await writeFile(path, 'no object');
    }
    await expect(source.reader.list(tree)).rejects.toMatchObject({
      kind: 'unavailable',
      message: expect.stringMatching(/^git could not read the repository: error: ./),
    });
  });
});
