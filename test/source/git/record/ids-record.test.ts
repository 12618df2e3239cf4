import { readdir, rm } from 'node:fs/promises';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { RECORD_REF } from '../../../../src/source/git/refs/move.ts';
import { testRepository } from '../../../support/git.ts';
import { newRepository, openSource } from '../support.ts';
import { sectionDraft } from './section-draft.ts';

async function openRecord() {
  const repository = await testRepository();
  await repository.commit({ 'ds/apps/a.yaml': 'container_image: a\n' });
  const { record } = await openSource(join(repository.folder, 'ds'));
  return { repository, record };
}

describe('the record of ids', () => {
  it('is null before the first write', async () => {
    const { record } = await openRecord();
    expect(await record.read()).toBeNull();
    expect(record.folder).toBe('ds');
  });

  it.each(['sha1', 'sha256'])('is read as it was written, in a repository with %s ids', async (format) => {
    const repository = await newRepository(`--object-format=${format}`);
    const { record } = await openSource(repository.folder);
    const version = await record.write(sectionDraft({ 'meta.json': '{}\n', '00.json': 'größe\n' }, null));
    const files = new Map([
      ['00.json', 'größe\n'],
      ['meta.json', '{}\n'],
    ]);
    expect(await record.read()).toEqual({ version, files });
    expect(await repository.git('log', '-1', '--format=%ct %P', RECORD_REF)).toBe('1700000000 ');
    await repository.git('fsck', '--strict');
  });

  it('keeps files that the new version does not give, or drops them, as the draft says', async () => {
    const { record } = await openRecord();
    const first = await record.write(sectionDraft({ 'a.json': '1', 'b.json': '2' }, null));
    const second = await record.write(sectionDraft({ 'b.json': '3' }, first, true));
    expect(await record.read()).toMatchObject({
      files: new Map([
        ['a.json', '1'],
        ['b.json', '3'],
      ]),
    });
    await record.write(sectionDraft({ 'c.json': '4' }, second));
    expect(await record.read()).toMatchObject({ files: new Map([['c.json', '4']]) });
  });

  it('leaves few packs after many versions, even if no commit is written', async () => {
    const { repository, record } = await openRecord();
    const folder = join(repository.folder, '.git/objects/pack');
    const packs = async (): Promise<number> =>
      (await readdir(folder)).filter((name) => name.endsWith('.pack')).length;
    let version: string | null = null;
    for (let round = 0; round < 55; round++)
      version = await record.write(sectionDraft({ 'a.json': `${round}` }, version));
    await expect.poll(packs, { timeout: 60_000 }).toBeLessThan(20);
    expect(await record.read()).toMatchObject({ version });
  });

  it.each([
    ['no version', null],
    ['another version', '1'.repeat(40)],
  ])('is not overwritten if the writer expects %s', async (_, expected) => {
    const { record } = await openRecord();
    const version = await record.write(sectionDraft({ 'a.json': '1' }, null));
    await expect(record.write(sectionDraft({ 'a.json': '2' }, expected))).rejects.toMatchObject({
      kind: 'moved-on',
    });
    expect(await record.read()).toMatchObject({ version });
  });

  it('is not written if it was deleted meanwhile', async () => {
    const { record, repository } = await openRecord();
    const version = await record.write(sectionDraft({ 'a.json': '1' }, null));
    await repository.git('update-ref', '-d', RECORD_REF);
    await expect(record.write(sectionDraft({ 'a.json': '2' }, version))).rejects.toMatchObject({
      kind: 'moved-on',
    });
    expect(await record.read()).toBeNull();
  });

  it('is not confused with a branch or a tag of the same name', async () => {
    const { record, repository } = await openRecord();
    await repository.git('update-ref', `refs/heads/${RECORD_REF}`, 'HEAD');
    await repository.git('update-ref', `refs/tags/${RECORD_REF}`, 'HEAD');
    expect(await record.read()).toBeNull();
  });

  it('refuses a file that is too large to be read, or has a path for a name', async () => {
    const { record } = await openRecord();
    const large = ' '.repeat(2 ** 24 + 1);
    await expect(record.write(sectionDraft({ 'a.json': large }, null))).rejects.toMatchObject({
      kind: 'conflict',
    });
    await expect(record.write(sectionDraft({ '../a': 'x' }, null))).rejects.toMatchObject({
      kind: 'internal',
    });
    expect(await record.read()).toBeNull();
  });

  it('survives git gc', async () => {
    const { record, repository } = await openRecord();
    const version = await record.write(sectionDraft({ 'a.json': '1' }, null));
    await repository.git('gc', '--quiet', '--prune=now');
    expect(await record.read()).toMatchObject({ version, files: new Map([['a.json', '1']]) });
  });

  it('is unavailable while the repository is missing', async () => {
    const { record, repository } = await openRecord();
    await rm(join(repository.folder, '.git'), { recursive: true });
    await expect(record.read()).rejects.toMatchObject({ kind: 'unavailable' });
    await expect(record.write(sectionDraft({ 'a.json': '1' }, null))).rejects.toMatchObject({
      kind: 'unavailable',
    });
  });
});
