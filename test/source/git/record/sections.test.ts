import { rm } from 'node:fs/promises';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { RECORD_REF } from '../../../../src/source/git/record/refs.ts';
import { type TestRepository, testRepository } from '../../../support/git.ts';
import { type Plumbing, plumbingOf, type RawEntry } from '../../../support/plumbing.ts';
import { sectionOf } from '../../../support/record-files.ts';
import { openSource } from '../support.ts';

const AT = 1_700_000_000_000;
const OURS = sectionOf('staging');
const THEIRS = sectionOf('production');
const MISSING = '1'.repeat(40);

function draft(files: Record<string, string>, expected: string | null, keepsOtherFiles = false) {
  return { files: new Map(Object.entries(files)), expected, keepsOtherFiles, at: AT };
}

async function opened() {
  const repository = await testRepository();
  await repository.commit({ 'staging/a': '1', 'production/a': '1' });
  const { record } = await openSource(join(repository.folder, 'staging'));
  const { record: other } = await openSource(join(repository.folder, 'production'));
  return { repository, record, other, plumbing: plumbingOf(repository) };
}

const tipOf = ({ git }: TestRepository): Promise<string> => git('rev-parse', RECORD_REF);
const namesIn = async ({ git }: TestRepository): Promise<string[]> =>
  (await git('ls-tree', '--name-only', RECORD_REF)).split('\n');
const has = (text: string) => ({ files: new Map([['a.json', text]]) });

/** Puts a tree in the place of the record. */
async function putTree(
  { git }: TestRepository,
  plumbing: Plumbing,
  entries: readonly RawEntry[],
): Promise<void> {
  // As git wants them; a version that was moved by a push is in this order as a rule, and not by need.
  const sorted = [...entries].sort((one, two) => (String(one.name) < String(two.name) ? -1 : 1));
  await git('update-ref', RECORD_REF, await git('commit-tree', plumbing.tree(sorted), '-m', 'x'));
}

describe('sections of the record of ids', () => {
  it('of two folders are written beside each other, and each sees its own alone', async () => {
    const { repository, record, other } = await opened();
    const first = await record.write(draft({ 'a.json': '1' }, null));
    const second = await other.write(draft({ 'a.json': '2' }, null));
    expect(await record.read()).toEqual({ version: first, ...has('1') });
    expect(await other.read()).toEqual({ version: second, ...has('2') });
    const third = await record.write(draft({ 'b.json': '3' }, first, true));
    expect(await record.read()).toEqual({
      version: third,
      files: new Map([
        ['a.json', '1'],
        ['b.json', '3'],
      ]),
    });
    expect(await other.read()).toEqual({ version: second, ...has('2') });
    expect(await record.read('production')).toEqual({ version: second, ...has('2') });
    expect((await record.readFromAllSections('a.json')).sort()).toEqual(['1', '2']);
    expect(await repository.git('rev-list', '--count', RECORD_REF)).toBe('1');
    await repository.git('fsck', '--strict');
  });

  it('written at the same moment all get through', async () => {
    const { repository, record, other } = await opened();
    const sources = [record, other];
    const versions: (string | null)[] = [null, null];
    for (let round = 0; round < 10; round++) {
      const writes = sources.map((one, index) =>
        one.write(draft({ 'a.json': `${index} ${round}` }, versions[index] ?? null)),
      );
      versions.splice(0, 2, ...(await Promise.all(writes)));
    }
    expect(await record.read()).toEqual({ version: versions[0], ...has('0 9') });
    expect(await other.read()).toEqual({ version: versions[1], ...has('1 9') });
    await repository.git('fsck', '--strict');
  });

  it('that somebody else changed are not written over, whoever else has written', async () => {
    const { repository, record, other } = await opened();
    const { record: twin } = await openSource(join(repository.folder, 'staging'));
    const first = await record.write(draft({ 'a.json': '1' }, null));
    const second = await twin.write(draft({ 'a.json': '2' }, first));
    await other.write(draft({ 'a.json': '3' }, null));
    await expect(record.write(draft({ 'a.json': '4' }, first))).rejects.toMatchObject({ kind: 'moved-on' });
    expect(await record.read()).toEqual({ version: second, ...has('2') });
  });
});

type Make = (plumbing: Plumbing) => RawEntry;

describe('somebody else’s section', () => {
  it.each<[string, Make]>([
    ['is a file', (git) => ({ mode: '100644', name: THEIRS, id: git.blob('x') })],
    ['is a link', (git) => ({ mode: '120000', name: THEIRS, id: git.blob('/etc/passwd') })],
    ['is a submodule', () => ({ mode: '160000', name: THEIRS, id: MISSING })],
    ['is missing', () => ({ mode: '40000', name: THEIRS, id: MISSING })],
    ['is a folder that is a blob', (git) => ({ mode: '40000', name: THEIRS, id: git.blob('x') })],
    [
      'has other files',
      (git) => ({
        mode: '40000',
        name: THEIRS,
        id: git.tree([{ mode: '100644', name: 'x y', id: git.blob('') }]),
      }),
    ],
    [
      'misses a file',
      (git) => ({
        mode: '40000',
        name: THEIRS,
        id: git.tree([{ mode: '100644', name: 'meta.json', id: MISSING }]),
      }),
    ],
    [
      'has too large a file',
      (git) => ({
        mode: '40000',
        name: THEIRS,
        id: git.tree([{ mode: '100644', name: 'meta.json', id: git.blob(' '.repeat(2 ** 20)) }]),
      }),
    ],
  ])('%s: it is left as it is, and hinders nobody', async (_, make) => {
    const { repository, record, plumbing } = await opened();
    const first = await record.write(draft({ 'a.json': '1' }, null));
    const theirs = make(plumbing);
    await putTree(repository, plumbing, [...plumbing.entriesOf(RECORD_REF), theirs]);
    expect(await record.read()).toEqual({ version: first, ...has('1') });
    expect(await record.readFromAllSections('meta.json')).toEqual([]);
    const second = await record.write(draft({ 'a.json': '2' }, first, true));
    expect(await record.read()).toEqual({ version: second, ...has('2') });
    expect(plumbing.entriesOf(RECORD_REF)).toContainEqual(theirs);
  });
});

describe('what else stands in the record', () => {
  const junk: [string, string | Buffer][] = [
    ['a file', 'meta.json'],
    ['a name with a line break', 'x\ny'],
    ['a name in quotes', '"x"'],
    ['a name that is no text', Buffer.from([0xff, 0xfe])],
    ['a long name', 'x'.repeat(5000)],
  ];

  it.each(junk)('%s: it harms no section, and goes with the next version', async (_, name) => {
    const { repository, record, other, plumbing } = await opened();
    const first = await record.write(draft({ 'a.json': '1' }, null));
    const second = await other.write(draft({ 'a.json': '2' }, null));
    const more = { mode: '100644', name, id: plumbing.blob('x') };
    await putTree(repository, plumbing, [...plumbing.entriesOf(RECORD_REF), more]);
    expect(await record.read()).toEqual({ version: first, ...has('1') });
    await record.write(draft({ 'a.json': '3' }, first));
    expect((await namesIn(repository)).sort()).toEqual([OURS, THEIRS].sort());
    expect(await other.read()).toEqual({ version: second, ...has('2') });
  });

  it.each(junk)(
    '%s, and no section of this manager: damage, which its first version replaces',
    async (_, name) => {
      const { repository, record, other, plumbing } = await opened();
      await other.write(draft({ 'a.json': '2' }, null));
      const theirs = { mode: '40000', name: sectionOf('third'), id: MISSING };
      const more = { mode: '100644', name, id: plumbing.blob('x') };
      await putTree(repository, plumbing, [...plumbing.entriesOf(RECORD_REF), theirs, more]);
      const found = await record.read();
      expect(found).toMatchObject({ damage: expect.stringContaining('does not belong there') });
      await expect(record.write(draft({ 'a.json': '1' }, null))).rejects.toMatchObject({ kind: 'moved-on' });
      await record.write(draft({ 'a.json': '1' }, found?.version ?? null));
      expect((await namesIn(repository)).sort()).toEqual([OURS, THEIRS, theirs.name].sort());
      expect(await record.read()).toMatchObject(has('1'));
      expect(await other.read()).toMatchObject(has('2'));
    },
  );

  it.each<[string, (repository: TestRepository, plumbing: Plumbing) => Promise<unknown>]>([
    ['a blob', async ({ git }, plumbing) => git('update-ref', RECORD_REF, plumbing.blob('x'))],
    ['a tree', async ({ git }, plumbing) => git('update-ref', RECORD_REF, plumbing.tree([]))],
    ['a commit of somebody', ({ git }) => git('update-ref', RECORD_REF, 'HEAD')],
    [
      'a section twice',
      async (repository, plumbing) => {
        const id = plumbing.tree([]);
        await putTree(
          repository,
          plumbing,
          [OURS, THEIRS, THEIRS].map((name) => ({ mode: '40000', name, id })),
        );
      },
    ],
    [
      'more sections than anybody has',
      async (repository, plumbing) => {
        const id = plumbing.tree([]);
        const sections = Array.from({ length: 501 }, (_, index) => sectionOf(`${index}`));
        await putTree(
          repository,
          plumbing,
          [OURS, ...sections].map((name) => ({ mode: '40000', name, id })),
        );
      },
    ],
  ])('%s in the place of all: damage, which the next version replaces', async (_, put) => {
    const { repository, record, plumbing } = await opened();
    await put(repository, plumbing);
    const found = await record.read();
    expect(found).toMatchObject({ damage: expect.any(String) });
    expect(await record.readFromAllSections('a.json')).toEqual([]);
    const version = await record.write(draft({ 'a.json': '1' }, found?.version ?? null));
    expect(await record.read()).toEqual({ version, ...has('1') });
    expect(await namesIn(repository)).toEqual([OURS]);
  });

  it('as many sections as there can be: one more is refused, and those that are there are written', async () => {
    const { repository, record, other, plumbing } = await opened();
    const first = await record.write(draft({ 'a.json': '1' }, null));
    const id = plumbing.tree([]);
    const sections = Array.from({ length: 499 }, (_, index) => ({
      mode: '40000',
      name: sectionOf(`${index}`),
      id,
    }));
    await putTree(repository, plumbing, [...plumbing.entriesOf(RECORD_REF), ...sections]);
    await expect(other.write(draft({ 'a.json': '2' }, null))).rejects.toMatchObject({ kind: 'conflict' });
    const second = await record.write(draft({ 'a.json': '2' }, first, true));
    expect(await record.read()).toEqual({ version: second, ...has('2') });
    expect(await namesIn(repository)).toHaveLength(500);
  });
});

it('a section that is its own damage is replaced alone', async () => {
  const { repository, record, other, plumbing } = await opened();
  await other.write(draft({ 'a.json': '2' }, null));
  for (const mode of ['100644', '40000', '160000']) {
    const ours = { mode, name: OURS, id: MISSING };
    const beside = plumbing.entriesOf(RECORD_REF).filter(({ name }) => name !== OURS);
    await putTree(repository, plumbing, [...beside, ours]);
    const found = await record.read();
    expect(found).toMatchObject({ version: MISSING, damage: expect.any(String) });
    await record.write(draft({ 'a.json': mode }, MISSING));
    expect(await record.read()).toMatchObject(has(mode));
    expect(await other.read()).toMatchObject(has('2'));
  }
});

it('a record whose objects are gone is damaged, and replaced', async () => {
  const { repository, record } = await opened();
  await record.write(draft({ 'a.json': '1' }, null));
  const tip = await tipOf(repository);
  await rm(join(repository.folder, '.git/objects/pack'), { recursive: true });
  const found = await record.read();
  expect(found).toMatchObject({ version: tip, damage: expect.any(String) });
  await record.write(draft({ 'a.json': '2' }, tip));
  expect(await record.read()).toMatchObject(has('2'));
});
