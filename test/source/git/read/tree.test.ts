import { execFileSync } from 'node:child_process';
import { afterAll, describe, expect, it } from 'vitest';
import { openClone } from '../../../../src/source/git/clone/clone.ts';
import { parseTreeChange, parseTreeList } from '../../../../src/source/git/read/tree.ts';
import { folderOfFile, MACHINE, repositoryOfFile } from '../support.ts';

const repository = await repositoryOfFile();
await repository.commit({ file: '' });
const source = await openClone({
  folder: repository.folder,
  branch: null,
  machine: MACHINE,
  dataFolder: await folderOfFile(),
});
afterAll(() => source.reader.close());
const blob = await repository.git('rev-parse', 'HEAD:file');

/** Makes a tree of these entries (`<mode> <type> <id>\t<path>`), including those that no checkout could have. */
function makeTree(entries: readonly string[]): string {
  const input = entries.map((entry) => `${entry}\0`).join('');
  return execFileSync('git', ['mktree', '-z', '--missing'], {
    cwd: repository.folder,
    input,
    encoding: 'utf8',
  }).trim();
}

const ODD_NAMES = [
  'with space.yaml',
  ' leading space',
  'trailing space ',
  'quote".yaml',
  "apostrophe'.yaml",
  'back\\slash.yaml',
  'tab\there.yaml',
  'new\nline.yaml',
  '\nbegins-with-newline',
  'größe.yaml',
  '日本.yaml',
  '😀.yaml',
  '-leading-dash.yaml',
  '--option=x',
  ':(glob)*.yaml',
  '*?[].yaml',
  '100644 blob aaaa',
  'M',
  ':100644',
  'end',
] as const;

describe('an odd name', () => {
  it.each(ODD_NAMES)('%j is listed unchanged', async (name) => {
    const tree = makeTree([`100644 blob ${blob}\t${name}`]);
    expect(await source.reader.list(tree)).toEqual([{ path: name, type: 'file', blob }]);
  });

  it.each(ODD_NAMES)(
    '%j is reported unchanged when the file is added and when it is deleted',
    async (name) => {
      const none = makeTree([]);
      const tree = makeTree([`100644 blob ${blob}\t${name}`]);
      expect(await source.reader.changes(none, tree)).toEqual([
        { path: name, entry: { path: name, type: 'file', blob } },
      ]);
      expect(await source.reader.changes(tree, none)).toEqual([{ path: name, entry: null }]);
    },
  );

  it('in a folder with an odd name is reported with its folder', async () => {
    const inner = makeTree([`100644 blob ${blob}\tb "c"\n`]);
    const tree = makeTree([`040000 tree ${inner}\ta\td`]);
    const path = 'a\td/b "c"\n';
    expect(await source.reader.list(tree)).toEqual([{ path, type: 'file', blob }]);
    expect(await source.reader.changes(makeTree([]), tree)).toMatchObject([{ path }]);
  });

  it('is reported among many others', async () => {
    const tree = makeTree(ODD_NAMES.map((name) => `100644 blob ${blob}\t${name}`));
    const paths = ((await source.reader.changes(makeTree([]), tree)) ?? []).map(({ path }) => path);
    expect(paths.sort()).toEqual([...ODD_NAMES].sort());
  });
});

describe('a file mode', () => {
  const commit = '1'.repeat(40);

  it.each([
    ['100644', 'file', 'blob', blob],
    ['100755', 'file', 'blob', blob],
    ['120000', 'symlink', 'blob', blob],
    ['160000', 'submodule', 'commit', commit],
  ])('%s is listed as a %s', async (mode, type, kind, id) => {
    const entry = { path: 'x', type, blob: id };
    const tree = makeTree([`${mode} ${kind} ${id}\tx`]);
    expect(await source.reader.list(tree)).toEqual([entry]);
    expect(await source.reader.changes(makeTree([]), tree)).toEqual([{ path: 'x', entry }]);
  });

  it.each([
    ['100644', '120000', 'symlink'],
    ['120000', '100644', 'file'],
    ['100644', '100755', 'file'],
  ])(
    'that changes from %s to %s with the same bytes is reported as a change to a %s',
    async (from, to, type) => {
      const [before, after] = [makeTree([`${from} blob ${blob}\tx`]), makeTree([`${to} blob ${blob}\tx`])];
      expect(await source.reader.changes(before, after)).toEqual([
        { path: 'x', entry: { path: 'x', type, blob } },
      ]);
    },
  );
});

describe('a file that replaces a folder', () => {
  it('is reported as added, and all files of the folder as deleted', async () => {
    const inner = makeTree([`100644 blob ${blob}\ta`, `100644 blob ${blob}\tb`]);
    const before = makeTree([`040000 tree ${inner}\tx`]);
    const after = makeTree([`100644 blob ${blob}\tx`]);
    const changes = (await source.reader.changes(before, after)) ?? [];
    expect(changes.filter(({ entry }) => entry === null).map(({ path }) => path)).toEqual(['x/a', 'x/b']);
    expect(changes.filter(({ entry }) => entry !== null).map(({ path }) => path)).toEqual(['x']);
  });
});

describe('parseTreeList', () => {
  it('returns an empty list for empty output', () => {
    expect(parseTreeList('')).toEqual([]);
  });
});

describe('parseTreeChange', () => {
  it('returns no entry for a deleted file', () => {
    const meta = `:100644 000000 ${blob} ${'0'.repeat(40)} D`;
    expect(parseTreeChange(meta, 'x')).toEqual({ path: 'x', entry: null });
  });
});
