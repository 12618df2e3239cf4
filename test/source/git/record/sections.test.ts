import { randomBytes } from 'node:crypto';
import { truncateSync } from 'node:fs';
import { readdir, rm } from 'node:fs/promises';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { RECORD_REF } from '../../../../src/source/git/refs/move.ts';
import { temporaryFolder } from '../../../support/folder.ts';
import { type TestRepository, testRepository } from '../../../support/git.ts';
import { type Plumbing, plumbingOf, type RawEntry } from '../../../support/plumbing.ts';
import { sectionOf } from '../../../support/record-files.ts';
import { machineWith, openSource } from '../support.ts';
import { sectionDraft } from './section-draft.ts';

const OWN_SECTION = sectionOf('staging');
const OTHER_SECTION = sectionOf('production');
const MISSING_ID = '1'.repeat(40);

/** One repository with the records of two managers, which follow different folders of it. */
async function openTwoRecords() {
  const repository = await testRepository();
  await repository.commit({ 'staging/a': '1', 'production/a': '1' });
  const { record } = await openSource(join(repository.folder, 'staging'));
  const { record: otherRecord } = await openSource(join(repository.folder, 'production'));
  return { repository, record, otherRecord, plumbing: plumbingOf(repository) };
}

/** The names at the top of the record's tree. */
const recordEntries = async ({ git }: TestRepository): Promise<string[]> =>
  (await git('ls-tree', '--name-only', RECORD_REF)).split('\n');

/** What `read` returns of a section with this text in its only file, besides the version. */
const content = (text: string) => ({ files: new Map([['a.json', text]]) });

/** Replaces the record by a commit of a tree with these entries. */
async function replaceRecord(
  { git }: TestRepository,
  plumbing: Plumbing,
  entries: readonly RawEntry[],
): Promise<void> {
  // The order in which git itself writes the entries of a tree.
  const sorted = [...entries].sort((one, two) => (String(one.name) < String(two.name) ? -1 : 1));
  await git('update-ref', RECORD_REF, await git('commit-tree', plumbing.tree(sorted), '-m', 'x'));
}

describe('sections of the record of ids', () => {
  it('of two folders are kept side by side, and each manager reads and replaces only its own', async () => {
    const { repository, record, otherRecord } = await openTwoRecords();
    const first = await record.write(sectionDraft({ 'a.json': '1' }, null));
    const second = await otherRecord.write(sectionDraft({ 'a.json': '2' }, null));
    expect(await record.read()).toEqual({ version: first, ...content('1') });
    expect(await otherRecord.read()).toEqual({ version: second, ...content('2') });
    const third = await record.write(sectionDraft({ 'b.json': '3' }, first, true));
    expect(await record.read()).toEqual({
      version: third,
      files: new Map([
        ['a.json', '1'],
        ['b.json', '3'],
      ]),
    });
    expect(await otherRecord.read()).toEqual({ version: second, ...content('2') });
    expect(await repository.git('rev-list', '--count', RECORD_REF)).toBe('1');
    await repository.git('fsck', '--strict');
  });

  it('are all written if two managers write theirs at the same moment', async () => {
    const { repository, record, otherRecord } = await openTwoRecords();
    const records = [record, otherRecord];
    const versions: (string | null)[] = [null, null];
    for (let round = 0; round < 10; round++) {
      const writes = records.map((written, index) =>
        written.write(sectionDraft({ 'a.json': `${index} ${round}` }, versions[index] ?? null)),
      );
      versions.splice(0, 2, ...(await Promise.all(writes)));
    }
    expect(await record.read()).toEqual({ version: versions[0], ...content('0 9') });
    expect(await otherRecord.read()).toEqual({ version: versions[1], ...content('1 9') });
    await repository.git('fsck', '--strict');
  });

  it('are not overwritten after another manager of the same folder changed them, even if a third manager wrote its own since', async () => {
    const { repository, record, otherRecord } = await openTwoRecords();
    const { record: twin } = await openSource(join(repository.folder, 'staging'));
    const first = await record.write(sectionDraft({ 'a.json': '1' }, null));
    const second = await twin.write(sectionDraft({ 'a.json': '2' }, first));
    await otherRecord.write(sectionDraft({ 'a.json': '3' }, null));
    await expect(record.write(sectionDraft({ 'a.json': '4' }, first))).rejects.toMatchObject({
      kind: 'moved-on',
    });
    expect(await record.read()).toEqual({ version: second, ...content('2') });
  });
});

type MakeSection = (plumbing: Plumbing, repository: TestRepository) => RawEntry;

describe('a damaged section of another manager', () => {
  it.each<[string, MakeSection]>([
    ['is a file', (git) => ({ mode: '100644', name: OTHER_SECTION, id: git.blob('x') })],
    ['is a symlink', (git) => ({ mode: '120000', name: OTHER_SECTION, id: git.blob('/etc/passwd') })],
    ['is a submodule', () => ({ mode: '160000', name: OTHER_SECTION, id: MISSING_ID })],
    ['is a tree that is missing', () => ({ mode: '40000', name: OTHER_SECTION, id: MISSING_ID })],
    [
      'is a folder by its mode, but a blob',
      (git) => ({ mode: '40000', name: OTHER_SECTION, id: git.blob('x') }),
    ],
    [
      'has only a file that no manager writes',
      (git) => ({
        mode: '40000',
        name: OTHER_SECTION,
        id: git.tree([{ mode: '100644', name: 'x y', id: git.blob('') }]),
      }),
    ],
    [
      'has a file whose blob is missing',
      (git) => ({
        mode: '40000',
        name: OTHER_SECTION,
        id: git.tree([{ mode: '100644', name: 'meta.json', id: MISSING_ID }]),
      }),
    ],
    [
      'has a file that is too large',
      (git) => ({
        mode: '40000',
        name: OTHER_SECTION,
        id: git.tree([{ mode: '100644', name: 'meta.json', id: git.blob(' '.repeat(2 ** 20)) }]),
      }),
    ],
    [
      'has a file whose blob ends too early, at which git ends',
      (git, { folder }) => {
        const id = git.blob(randomBytes(5000));
        truncateSync(join(folder, '.git/objects', id.slice(0, 2), id.slice(2)), 1000);
        const section = git.tree([{ mode: '100644', name: 'meta.json', id }]);
        return { mode: '40000', name: OTHER_SECTION, id: section };
      },
    ],
  ])('is skipped by reads and kept by writes of this manager if it %s', async (_, make) => {
    const { repository, record, plumbing } = await openTwoRecords();
    const first = await record.write(sectionDraft({ 'a.json': '1' }, null));
    const damaged = make(plumbing, repository);
    await replaceRecord(repository, plumbing, [...plumbing.entriesOf(RECORD_REF), damaged]);
    expect(await record.read()).toEqual({ version: first, ...content('1') });
    const second = await record.write(sectionDraft({ 'a.json': '2' }, first, true));
    expect(await record.read()).toEqual({ version: second, ...content('2') });
    expect(plumbing.entriesOf(RECORD_REF)).toContainEqual(damaged);
  });
});

describe('an entry of the record that is not a section', () => {
  /** Names of entries, each with what is special about it. */
  const ODD_ENTRIES: [string, string | Buffer][] = [
    ['the name of a file of sections', 'meta.json'],
    ['a name with a line break', 'x\ny'],
    ['a name in quotes', '"x"'],
    ['a name that is not UTF-8', Buffer.from([0xff, 0xfe])],
    ['a name of 5,000 letters', 'x'.repeat(5000)],
  ];

  it.each(ODD_ENTRIES)(
    'with %s does not affect any section, and is dropped by the next write',
    async (_, name) => {
      const { repository, record, otherRecord, plumbing } = await openTwoRecords();
      const first = await record.write(sectionDraft({ 'a.json': '1' }, null));
      const second = await otherRecord.write(sectionDraft({ 'a.json': '2' }, null));
      const oddEntry = { mode: '100644', name, id: plumbing.blob('x') };
      await replaceRecord(repository, plumbing, [...plumbing.entriesOf(RECORD_REF), oddEntry]);
      expect(await record.read()).toEqual({ version: first, ...content('1') });
      await record.write(sectionDraft({ 'a.json': '3' }, first));
      expect((await recordEntries(repository)).sort()).toEqual([OWN_SECTION, OTHER_SECTION].sort());
      expect(await otherRecord.read()).toEqual({ version: second, ...content('2') });
    },
  );

  it.each(ODD_ENTRIES)(
    'with %s counts as damage while the manager has no section, and its first write drops the entry',
    async (_, name) => {
      const { repository, record, otherRecord, plumbing } = await openTwoRecords();
      await otherRecord.write(sectionDraft({ 'a.json': '2' }, null));
      const third = { mode: '40000', name: sectionOf('third'), id: MISSING_ID };
      const fourth = { mode: '160000', name: sectionOf('fourth'), id: MISSING_ID };
      const oddEntry = { mode: '100644', name, id: plumbing.blob('x') };
      const others = [...plumbing.entriesOf(RECORD_REF), third, fourth];
      await replaceRecord(repository, plumbing, [...others, oddEntry]);
      const found = await record.read();
      expect(found).toMatchObject({ damage: expect.stringContaining('does not belong there') });
      await expect(record.write(sectionDraft({ 'a.json': '1' }, null))).rejects.toMatchObject({
        kind: 'moved-on',
      });
      await record.write(sectionDraft({ 'a.json': '1' }, found?.version ?? null));
      expect((await recordEntries(repository)).sort()).toEqual(
        [OWN_SECTION, OTHER_SECTION, third.name, fourth.name].sort(),
      );
      expect(await record.read()).toMatchObject(content('1'));
      expect(await otherRecord.read()).toMatchObject(content('2'));
    },
  );
});

describe('a record of ids that no manager wrote', () => {
  it.each<[string, (repository: TestRepository, plumbing: Plumbing) => Promise<unknown>]>([
    ['a blob', async ({ git }, plumbing) => git('update-ref', RECORD_REF, plumbing.blob('x'))],
    ['a tree', async ({ git }, plumbing) => git('update-ref', RECORD_REF, plumbing.tree([]))],
    ['a commit of a user', ({ git }) => git('update-ref', RECORD_REF, 'HEAD')],
    [
      'a tree with the same section twice',
      async (repository, plumbing) => {
        const id = plumbing.tree([]);
        await replaceRecord(
          repository,
          plumbing,
          [OWN_SECTION, OTHER_SECTION, OTHER_SECTION].map((name) => ({ mode: '40000', name, id })),
        );
      },
    ],
    [
      'a tree with more sections than the limit of 500',
      async (repository, plumbing) => {
        const id = plumbing.tree([]);
        const sections = Array.from({ length: 501 }, (_, index) => sectionOf(`${index}`));
        await replaceRecord(
          repository,
          plumbing,
          [OWN_SECTION, ...sections].map((name) => ({ mode: '40000', name, id })),
        );
      },
    ],
  ])('is reported as damaged, and replaced by the next write: %s', async (_, replace) => {
    const { repository, record, plumbing } = await openTwoRecords();
    await replace(repository, plumbing);
    const found = await record.read();
    expect(found).toMatchObject({ damage: expect.any(String) });
    const version = await record.write(sectionDraft({ 'a.json': '1' }, found?.version ?? null));
    expect(await record.read()).toEqual({ version, ...content('1') });
    expect(await recordEntries(repository)).toEqual([OWN_SECTION]);
  });
});

describe('a record with 500 sections, the limit', () => {
  it('takes no new section, but new versions of those that it has', async () => {
    const { repository, record, otherRecord, plumbing } = await openTwoRecords();
    const first = await record.write(sectionDraft({ 'a.json': '1' }, null));
    const id = plumbing.tree([]);
    const sections = Array.from({ length: 499 }, (_, index) => ({
      mode: '40000',
      name: sectionOf(`${index}`),
      id,
    }));
    await replaceRecord(repository, plumbing, [...plumbing.entriesOf(RECORD_REF), ...sections]);
    await expect(otherRecord.write(sectionDraft({ 'a.json': '2' }, null))).rejects.toMatchObject({
      kind: 'conflict',
    });
    const second = await record.write(sectionDraft({ 'a.json': '2' }, first, true));
    expect(await record.read()).toEqual({ version: second, ...content('2') });
    expect(await recordEntries(repository)).toHaveLength(500);
  });
});

it('a damaged section is replaced by its own manager without touching the others', async () => {
  const { repository, record, otherRecord, plumbing } = await openTwoRecords();
  await otherRecord.write(sectionDraft({ 'a.json': '2' }, null));
  const id = plumbing.blob('[]');
  const file = (name: string, mode = '100644'): RawEntry => ({ mode, name, id });
  const manyNames = Array.from({ length: 301 }, (_, index) => `${1000 + index}`);
  const damages: Omit<RawEntry, 'name'>[] = [
    { mode: '100644', id: MISSING_ID },
    { mode: '40000', id: MISSING_ID },
    { mode: '160000', id: MISSING_ID },
    { mode: '40000', id: plumbing.tree([file('a.json'), file('a.json')]) },
    { mode: '40000', id: plumbing.tree([file('a.json', '120000')]) },
    { mode: '40000', id: plumbing.tree(manyNames.map((name) => file(name))) },
  ];
  for (const [index, damage] of damages.entries()) {
    const others = plumbing.entriesOf(RECORD_REF).filter(({ name }) => name !== OWN_SECTION);
    await replaceRecord(repository, plumbing, [...others, { ...damage, name: OWN_SECTION }]);
    const found = await record.read();
    expect(found).toMatchObject({ version: damage.id, damage: expect.any(String) });
    await record.write(sectionDraft({ 'a.json': `${index}` }, damage.id));
    expect(await record.read()).toMatchObject(content(`${index}`));
    expect(await otherRecord.read()).toMatchObject(content('2'));
  }
});

it('a section is not taken for damaged because git has ended once while reading it', async () => {
  const { repository, record } = await openTwoRecords();
  const version = await record.write(sectionDraft({ 'a.json': '1' }, null));
  const folder = await temporaryFolder();
  const machine = await machineWith(`test "$1" = cat-file && mkdir ${folder}/ended 2>&- && exit 128`);
  const { record: again } = await openSource(join(repository.folder, 'staging'), null, { machine });
  expect(await again.read()).toEqual({ version, ...content('1') });
  expect(await readdir(folder)).toEqual(['ended']);
});

it('a record whose objects are missing is reported as damaged, and replaced by the next write', async () => {
  const { repository, record } = await openTwoRecords();
  await record.write(sectionDraft({ 'a.json': '1' }, null));
  const tip = await repository.git('rev-parse', RECORD_REF);
  const tree = await repository.git('rev-parse', `${tip}^{tree}`);
  await rm(join(repository.folder, '.git/objects', tree.slice(0, 2)), { recursive: true });
  const found = await record.read();
  expect(found).toMatchObject({ version: tip, damage: expect.any(String) });
  await record.write(sectionDraft({ 'a.json': '2' }, tip));
  expect(await record.read()).toMatchObject(content('2'));
});
