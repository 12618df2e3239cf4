import { randomBytes } from 'node:crypto';
import { truncateSync } from 'node:fs';
import { readdir, rm } from 'node:fs/promises';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { temporaryFolder } from '../../../support/folder.ts';
import { type TestRepository, testRepository } from '../../../support/git.ts';
import { type Plumbing, plumbingOf } from '../../../support/plumbing.ts';
import { recordOf } from '../../../support/record-files.ts';
import { machineWith, newRepository, openSource } from '../support.ts';
import { AT, FLEET, recordDraft } from './record-draft.ts';

const RECORD = recordOf('ds');
const MISSING_ID = '1'.repeat(40);

async function openRecord() {
  const repository = await testRepository();
  await repository.commit({ 'ds/apps/a.yaml': 'container_image: a\n' });
  const { record } = await openSource(join(repository.folder, 'ds'));
  return { repository, record };
}

/** What `read` returns of a version with this text in its only file. */
const content = (text: string) => ({ files: new Map([['a.json', text]]) });

describe('the record of ids', () => {
  it('is null before the first write', async () => {
    const { record } = await openRecord();
    expect(await record.read()).toBeNull();
    expect([record.folder, record.name]).toEqual(['ds', RECORD]);
  });

  it.each(['sha1', 'sha256'])('is read as it was written, in a repository with %s ids', async (format) => {
    const repository = await newRepository(`--object-format=${format}`);
    const { record } = await openSource(repository.folder);
    const tip = await record.write(recordDraft({ 'meta.json': '{}\n', '00.json': 'größe\n' }, null));
    const files = new Map([
      ['00.json', 'größe\n'],
      ['meta.json', '{}\n'],
    ]);
    expect(await record.read()).toEqual({ tip, at: AT, writer: FLEET, files });
    expect(await repository.git('log', '-1', '--format=%ct %P', record.name)).toBe('1700000000 ');
    await repository.git('fsck', '--strict');
  });

  it('keeps files that the new version does not give, or drops them, as the draft says', async () => {
    const { record } = await openRecord();
    const first = await record.write(recordDraft({ 'a.json': '1', 'b.json': '2' }, null));
    const second = await record.write(recordDraft({ 'b.json': '3' }, first, true));
    expect(await record.read()).toMatchObject({
      files: new Map([
        ['a.json', '1'],
        ['b.json', '3'],
      ]),
    });
    await record.write(recordDraft({ 'c.json': '4' }, second));
    expect(await record.read()).toMatchObject({ files: new Map([['c.json', '4']]) });
  });

  it('is a chain of versions, of which each 500th begins a new one with all files', async () => {
    const { repository, record } = await openRecord();
    const first = await record.write(recordDraft({ 'a.json': '1', 'b.json': '2' }, null));
    const parents = (tip: string): Promise<string> => repository.git('log', '-1', '--format=%P', tip);
    const second = await record.write(recordDraft({ 'b.json': '3' }, first, true));
    expect([await parents(first), await parents(second)]).toEqual(['', first]);
    const text = await repository.git('cat-file', 'commit', second);
    const last = await repository.git(
      'commit-tree',
      `${second}^{tree}`,
      '-m',
      text.slice(text.indexOf('Record ids')).replace('Version: 1', 'Version: 499'),
    );
    await repository.git('update-ref', RECORD, last);
    const next = await record.write(recordDraft({ 'c.json': '4' }, last, true));
    expect(await parents(next)).toBe('');
    expect(await record.read()).toMatchObject({
      tip: next,
      files: new Map([
        ['a.json', '1'],
        ['b.json', '3'],
        ['c.json', '4'],
      ]),
    });
    expect(await parents(await record.write(recordDraft({ 'c.json': '5' }, next, true)))).toBe(next);
  });

  it('of two folders is kept at two refs', async () => {
    const { repository, record } = await openRecord();
    await repository.commit({ 'other/a': '1' });
    const { record: other } = await openSource(join(repository.folder, 'other'));
    const [tip, otherTip] = await Promise.all([
      record.write(recordDraft({ 'a.json': '1' }, null)),
      other.write(recordDraft({ 'a.json': '2' }, null)),
    ]);
    expect(await record.read()).toMatchObject({ tip, ...content('1') });
    expect(await other.read()).toMatchObject({ tip: otherTip, ...content('2') });
  });

  it('leaves few packs after many versions, even if no commit is written', async () => {
    const { repository, record } = await openRecord();
    const folder = join(repository.folder, '.git/objects/pack');
    const packs = async (): Promise<number> =>
      (await readdir(folder)).filter((name) => name.endsWith('.pack')).length;
    let tip: string | null = null;
    for (let round = 0; round < 55; round++)
      tip = await record.write(recordDraft({ 'a.json': `${round}` }, tip, true));
    await expect.poll(packs, { timeout: 60_000 }).toBeLessThan(20);
    expect(await record.read()).toMatchObject({ tip });
  });

  it.each([
    ['no version', null],
    ['another version', '1'.repeat(40)],
  ])('is not overwritten if the writer expects %s', async (_, expected) => {
    const { record } = await openRecord();
    const tip = await record.write(recordDraft({ 'a.json': '1' }, null));
    await expect(record.write(recordDraft({ 'a.json': '2' }, expected))).rejects.toMatchObject({
      kind: 'moved-on',
    });
    expect(await record.read()).toMatchObject({ tip });
  });

  it('is not written if it was deleted meanwhile', async () => {
    const { record, repository } = await openRecord();
    const tip = await record.write(recordDraft({ 'a.json': '1' }, null));
    await repository.git('update-ref', '-d', RECORD);
    await expect(record.write(recordDraft({ 'a.json': '2' }, tip))).rejects.toMatchObject({
      kind: 'moved-on',
    });
    expect(await record.read()).toBeNull();
  });

  it('is not confused with a branch or a tag of the same name', async () => {
    const { record, repository } = await openRecord();
    await repository.git('update-ref', `refs/heads/${RECORD}`, 'HEAD');
    await repository.git('update-ref', `refs/tags/${RECORD}`, 'HEAD');
    expect(await record.read()).toBeNull();
  });

  it('refuses a file that is too large to be read, or has a path for a name', async () => {
    const { record } = await openRecord();
    const large = ' '.repeat(2 ** 24 + 1);
    await expect(record.write(recordDraft({ 'a.json': large }, null))).rejects.toMatchObject({
      kind: 'conflict',
    });
    await expect(record.write(recordDraft({ '../a': 'x' }, null))).rejects.toMatchObject({
      kind: 'internal',
    });
    expect(await record.read()).toBeNull();
  });

  it('survives git gc', async () => {
    const { record, repository } = await openRecord();
    const tip = await record.write(recordDraft({ 'a.json': '1' }, null));
    await repository.git('gc', '--quiet', '--prune=now');
    expect(await record.read()).toMatchObject({ tip, files: new Map([['a.json', '1']]) });
  });

  it('is unavailable while the repository is missing', async () => {
    const { record, repository } = await openRecord();
    await rm(join(repository.folder, '.git'), { recursive: true });
    await expect(record.read()).rejects.toMatchObject({ kind: 'unavailable' });
    await expect(record.write(recordDraft({ 'a.json': '1' }, null))).rejects.toMatchObject({
      kind: 'unavailable',
    });
  });
});

/** Points the ref to a commit of a tree with these entries. */
async function pointTo({ git }: TestRepository, tree: string): Promise<void> {
  await git('update-ref', RECORD, await git('commit-tree', tree, '-m', 'x'));
}

type Damage = (repository: TestRepository, plumbing: Plumbing) => Promise<unknown>;

const treeWith =
  (mode: string, name: string | Buffer, id?: string): Damage =>
  (repository, plumbing) =>
    pointTo(repository, plumbing.tree([{ mode, name, id: id ?? plumbing.blob('[]') }]));

describe('a record of ids that no manager wrote', () => {
  it.each<[string, Damage]>([
    ['a blob', async ({ git }, plumbing) => git('update-ref', RECORD, plumbing.blob('x'))],
    ['a tree', async ({ git }, plumbing) => git('update-ref', RECORD, plumbing.tree([]))],
    ['a commit of a user', ({ git }) => git('update-ref', RECORD, 'HEAD')],
    ['a file that is missing', treeWith('100644', 'a.json', MISSING_ID)],
    ['a link', treeWith('120000', 'a.json')],
    ['a submodule', treeWith('160000', 'a.json', MISSING_ID)],
    ['a folder', treeWith('40000', 'a')],
    ['a name with a line break', treeWith('100644', 'x\ny')],
    ['a name that is not UTF-8', treeWith('100644', Buffer.from([0xff, 0xfe]))],
    ['a name of 5,000 letters', treeWith('100644', 'x'.repeat(5000))],
    [
      'a file twice',
      (repository, plumbing) => {
        const file = { mode: '100644', name: 'a.json', id: plumbing.blob('[]') };
        return pointTo(repository, plumbing.tree([file, file]));
      },
    ],
    [
      'more files than a manager writes',
      (repository, plumbing) => {
        const id = plumbing.blob('[]');
        const names = Array.from({ length: 301 }, (_, index) => `${1000 + index}`);
        return pointTo(repository, plumbing.tree(names.map((name) => ({ mode: '100644', name, id }))));
      },
    ],
    [
      'a file whose blob ends too early, at which git ends',
      (repository, plumbing) => {
        const id = plumbing.blob(randomBytes(5000));
        truncateSync(join(repository.folder, '.git/objects', id.slice(0, 2), id.slice(2)), 1000);
        return pointTo(repository, plumbing.tree([{ mode: '100644', name: 'a.json', id }]));
      },
    ],
  ])('is reported as damaged, and replaced by the next write: %s', async (_, damage) => {
    const { repository, record } = await openRecord();
    await damage(repository, plumbingOf(repository));
    const found = await record.read();
    expect(found).toMatchObject({ damage: expect.any(String) });
    const tip = await record.write(recordDraft({ 'a.json': '1' }, found?.tip ?? null));
    expect(await record.read()).toMatchObject({ tip, ...content('1') });
    expect(await repository.git('log', '--format=%H', RECORD)).toBe(tip);
  });

  it('is reported as damaged if its objects are missing', async () => {
    const { repository, record } = await openRecord();
    const tip = await record.write(recordDraft({ 'a.json': '1' }, null));
    const tree = await repository.git('rev-parse', `${tip}^{tree}`);
    await rm(join(repository.folder, '.git/objects', tree.slice(0, 2)), { recursive: true });
    expect(await record.read()).toMatchObject({ tip, damage: expect.any(String) });
    await record.write(recordDraft({ 'a.json': '2' }, tip));
    expect(await record.read()).toMatchObject(content('2'));
  });
});

it('a record is not taken for damaged because git has ended once while reading it', async () => {
  const { repository, record } = await openRecord();
  const tip = await record.write(recordDraft({ 'a.json': '1' }, null));
  const folder = await temporaryFolder();
  const machine = await machineWith(`test "$1" = cat-file && mkdir ${folder}/ended 2>&- && exit 128`);
  const { record: again } = await openSource(join(repository.folder, 'ds'), null, { machine });
  expect(await again.read()).toMatchObject({ tip, ...content('1') });
  expect(await readdir(folder)).toEqual(['ended']);
});
