import { readdir, rm } from 'node:fs/promises';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { testRepository } from '../../../support/git.ts';
import { newRepository, openSource } from '../support.ts';

const AT = 1_700_000_000_000;
const RECORD = 'refs/holdfast/ids';

function draft(files: Record<string, string>, expected: string | null, keepsOtherFiles = false) {
  return { files: new Map(Object.entries(files)), expected, keepsOtherFiles, at: AT };
}

async function openRecord() {
  const repository = await testRepository();
  await repository.commit({ 'ds/apps/a.yaml': 'container_image: a\n' });
  const { record } = await openSource(join(repository.folder, 'ds'));
  return { repository, record };
}

describe('the ids record', () => {
  it('is not there at first', async () => {
    const { record } = await openRecord();
    expect(await record.read()).toBeNull();
    expect(record.folder).toBe('ds');
  });

  it.each(['sha1', 'sha256'])('is read as it was written, with %s', async (format) => {
    const repository = await newRepository(`--object-format=${format}`);
    const { record } = await openSource(repository.folder);
    const version = await record.write(draft({ 'meta.json': '{}\n', '00.json': 'größe\n' }, null));
    const files = new Map([
      ['00.json', 'größe\n'],
      ['meta.json', '{}\n'],
    ]);
    expect(await record.read()).toEqual({ version, files });
    expect(await repository.git('log', '-1', '--format=%ct %P', RECORD)).toBe('1700000000 ');
    await repository.git('fsck', '--strict');
  });

  it('keeps the files that are not given, or drops them', async () => {
    const { record } = await openRecord();
    const first = await record.write(draft({ 'a.json': '1', 'b.json': '2' }, null));
    const second = await record.write(draft({ 'b.json': '3' }, first, true));
    expect(await record.read()).toMatchObject({
      files: new Map([
        ['a.json', '1'],
        ['b.json', '3'],
      ]),
    });
    await record.write(draft({ 'c.json': '4' }, second));
    expect(await record.read()).toMatchObject({ files: new Map([['c.json', '4']]) });
  });

  it('leaves few packs, though restarts write versions without a commit', async () => {
    const { repository, record } = await openRecord();
    const folder = join(repository.folder, '.git/objects/pack');
    const packs = async (): Promise<number> =>
      (await readdir(folder)).filter((name) => name.endsWith('.pack')).length;
    let version: string | null = null;
    for (let round = 0; round < 55; round++)
      version = await record.write(draft({ 'a.json': `${round}` }, version));
    await expect.poll(packs, { timeout: 60_000 }).toBeLessThan(20);
    expect(await record.read()).toMatchObject({ version });
  });

  it.each([
    ['nothing, and there is something', null],
    ['another version', '1'.repeat(40)],
  ])('is not written over where the writer expects %s', async (_, expected) => {
    const { record } = await openRecord();
    const version = await record.write(draft({ 'a.json': '1' }, null));
    await expect(record.write(draft({ 'a.json': '2' }, expected))).rejects.toMatchObject({
      kind: 'moved-on',
    });
    expect(await record.read()).toMatchObject({ version });
  });

  it('is not written where it was deleted meanwhile', async () => {
    const { record, repository } = await openRecord();
    const version = await record.write(draft({ 'a.json': '1' }, null));
    await repository.git('update-ref', '-d', RECORD);
    await expect(record.write(draft({ 'a.json': '2' }, version))).rejects.toMatchObject({ kind: 'moved-on' });
    expect(await record.read()).toBeNull();
  });

  it('a branch of the same name is not taken for it', async () => {
    const { record, repository } = await openRecord();
    await repository.git('update-ref', `refs/heads/${RECORD}`, 'HEAD');
    await repository.git('update-ref', `refs/tags/${RECORD}`, 'HEAD');
    expect(await record.read()).toBeNull();
  });

  it('refuses what it would not read again', async () => {
    const { record } = await openRecord();
    const large = ' '.repeat(2 ** 24 + 1);
    await expect(record.write(draft({ 'a.json': large }, null))).rejects.toMatchObject({ kind: 'conflict' });
    await expect(record.write(draft({ '../a': 'x' }, null))).rejects.toMatchObject({ kind: 'internal' });
    expect(await record.read()).toBeNull();
  });

  it('outlives a clean-up', async () => {
    const { record, repository } = await openRecord();
    const version = await record.write(draft({ 'a.json': '1' }, null));
    await repository.git('gc', '--quiet', '--prune=now');
    expect(await record.read()).toMatchObject({ version, files: new Map([['a.json', '1']]) });
  });

  it('cannot be reached: unavailable', async () => {
    const { record, repository } = await openRecord();
    await rm(join(repository.folder, '.git'), { recursive: true });
    await expect(record.read()).rejects.toMatchObject({ kind: 'unavailable' });
    await expect(record.write(draft({ 'a.json': '1' }, null))).rejects.toMatchObject({ kind: 'unavailable' });
  });
});

describe('where the branch was', () => {
  it('is what the branch and HEAD remember', async () => {
    const repository = await testRepository();
    const first = await repository.commit({ a: '1' });
    const second = await repository.commit({ a: '2' });
    await repository.git('reset', '--quiet', '--hard', first);
    const { reader } = await openSource(repository.folder);
    expect(await reader.reflogCommits()).toEqual([
      [first, second, first],
      [first, second, first],
    ]);
    const fixed = await openSource(repository.folder, 'main');
    await repository.git('switch', '--quiet', '-c', 'side');
    expect(await fixed.reader.reflogCommits()).toEqual([[first, second, first]]);
  });
});

describe('what commits touched', () => {
  it('is told by paths below the folder', async () => {
    const repository = await testRepository();
    const first = await repository.commit({ 'ds/a': '1', b: '1' });
    const middle = await repository.commit({ 'ds/a': '2', 'ds/größe': '1', b: '2' });
    const last = await repository.commit({ 'ds/a': '1' });
    const { reader } = await openSource(join(repository.folder, 'ds'));
    expect(await reader.touchedPaths(first, last)).toEqual(new Set(['a', 'größe']));
    expect(await reader.touchedPaths(last, last)).toEqual(new Set());
    expect(await reader.commitsBetween(first, last)).toEqual([last, middle]);
    expect(await reader.commitsBetween(last, last)).toEqual([]);
  });
});
