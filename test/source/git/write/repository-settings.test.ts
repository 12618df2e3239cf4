import { rm, utimes } from 'node:fs/promises';
import { join } from 'node:path';
import { describe, expect, it, onTestFinished } from 'vitest';
import { writeFiles } from '../../../support/folder.ts';
import { repositoryAt, type TestRepository } from '../../../support/git.ts';
import { draftOf, newRepository, openSource, publishOne } from '../support.ts';
import { dieWriting, dyingSource, read, restart } from './interrupted-write.ts';

const FILES = {
  'ds/apps/web.yaml': 'a: web\n',
  'ds/apps/old.yaml': 'a: old\n',
  'ds/device-groups/x.yaml': 'x\n',
  'elsewhere/a/b.txt': 'b\n',
};
const EDITS = { 'apps/web.yaml': 'a: web\nb: 1\n', 'apps/old.yaml': null, 'apps/new.yaml': 'n\n' };

/** What people switch on where repositories are large, or because a guide says so. An older git does not know all of it. */
describe.each([
  { name: 'feature.manyFiles', act: [['config', 'feature.manyFiles', 'true']] },
  { name: 'an index in two parts', act: [['config', 'core.splitIndex', 'true']] },
  { name: 'an index without a hash', act: [['config', 'index.skipHash', 'true']] },
  { name: 'the daemon that watches files', act: [['config', 'core.fsmonitor', 'true']] },
  { name: 'a cache of what is untracked', act: [['config', 'core.untrackedCache', 'true']] },
  {
    name: 'settings of each work tree',
    act: [
      ['config', 'extensions.worktreeConfig', 'true'],
      ['config', '--worktree', 'core.autocrlf', 'input'],
    ],
  },
  {
    name: 'a sparse index',
    act: [
      ['config', 'index.sparse', 'true'],
      ['sparse-checkout', 'set', '--cone', 'ds'],
    ],
  },
  {
    name: 'scalar',
    act: [
      ['config', 'core.multiPackIndex', 'true'],
      ['repack', '-adq', '--write-midx'],
    ],
  },
])('a repository with $name', ({ act }) => {
  it('is written to, and shows a person what is theirs alone', async () => {
    const repository = await repositoryWith(act);
    const source = await openSource(join(repository.folder, 'ds'));
    await publishOne(source, EDITS);
    await expectStatus(repository, '');
    await writeFiles(repository.folder, { 'ds/apps/web.yaml': 'mine\n' });
    await expectStatus(repository, ' M ds/apps/web.yaml');
    await expect(publishOne(source, { 'apps/web.yaml': 'theirs\n' })).rejects.toMatchObject({
      kind: 'conflict',
    });
    const mine = await repository.commit({ 'ds/apps/mine.yaml': 'm\n' });
    expect(
      await repository.git('rev-parse', `${await publishOne(source, { 'apps/web.yaml': 'c\n' })}^`),
    ).toBe(mine);
    await expectStatus(repository, '');
  });

  it('is as it was after a write that died', async () => {
    const repository = await repositoryWith(act);
    await dieWriting(await dyingSource(repository, 'tree-switched'), EDITS);
    await restart(repository);
    await expectStatus(repository, '');
    expect([await read(repository, 'ds/apps/web.yaml'), await read(repository, 'ds/apps/new.yaml')]).toEqual([
      'a: web\n',
      null,
    ]);
  });
});

describe('a repository that was made where names do not differ by case', () => {
  it('is written to name by name: a new file takes the place of no other', async () => {
    const repository = await repositoryWith([['config', 'core.ignoreCase', 'true']]);
    const source = await openSource(join(repository.folder, 'ds'));
    await publishOne(source, { 'apps/WEB.yaml': 'a: other\n' });
    await publishOne(source, { 'Apps/web.yaml': 'a: third\n' });
    const names = (await repository.git('ls-tree', '-r', '--name-only', 'HEAD')).split('\n');
    expect(names.toSorted()).toEqual(
      [...Object.keys(FILES), 'ds/Apps/web.yaml', 'ds/apps/WEB.yaml'].toSorted(),
    );
    expect(await repository.show('ds/apps/web.yaml')).toBe('a: web\n');
    await publishOne(source, { 'apps/web.yaml': null });
    expect(await repository.show('ds/apps/WEB.yaml')).toBe('a: other\n');
    expect(await read(repository, 'ds/apps/WEB.yaml')).toBe('a: other\n');
    await expectStatus(repository, '');
  });
});

describe('two new files of one publish whose names differ by case alone', () => {
  async function publishing(ignoresCase: string, branch: string) {
    const repository = await repositoryWith([
      ['config', 'core.ignoreCase', ignoresCase],
      ['branch', 'other'],
    ]);
    const { reader, publisher } = await openSource(join(repository.folder, 'ds'), branch);
    const drafts = [draftOf({ 'apps/New.yaml': '1\n' }), draftOf({ 'apps/new.yaml': '2\n' })];
    return { repository, published: publisher.publish(await reader.head(), drafts) };
  }

  it('are refused where they would share a file', async () => {
    const { repository, published } = await publishing('true', 'main');
    await expect(published).rejects.toMatchObject({
      kind: 'conflict',
      message: expect.stringContaining('differs only by case'),
      details: { paths: ['apps/New.yaml'] },
    });
    expect(await read(repository, 'ds/apps/new.yaml')).toBeNull();
    await expectStatus(repository, '');
  });

  it.each([
    { why: 'names differ by case', ignoresCase: 'false', branch: 'main' },
    { why: 'the branch is not checked out', ignoresCase: 'true', branch: 'other' },
  ])('are written where $why', async ({ ignoresCase, branch }) => {
    const { repository, published } = await publishing(ignoresCase, branch);
    expect(await published).toHaveLength(2);
    await expectStatus(repository, '');
  });
});

describe('a repository whose patterns match in either case', () => {
  it('has no uncommitted work that git status does not show', async () => {
    const repository = repositoryAt((await newRepository()).folder);
    await repository.commit({ ...FILES, '.gitattributes': '*.YAML text eol=crlf\n' });
    await repository.git('config', 'core.ignoreCase', 'true');
    await rm(join(repository.folder, 'ds/apps/web.yaml'));
    await repository.git('checkout', '--', 'ds/apps/web.yaml');
    await utimes(join(repository.folder, 'ds/apps/web.yaml'), 1, 1);
    const source = await openSource(join(repository.folder, 'ds'));
    await publishOne(source, { 'apps/web.yaml': 'a: other\n' });
    expect(await read(repository, 'ds/apps/web.yaml')).toBe('a: other\r\n');
    await expectStatus(repository, '');
  });
});

/** All that was asked for has happened before the manager comes: the index is as these settings make it. */
async function repositoryWith(act: readonly string[][]): Promise<TestRepository> {
  const repository = repositoryAt((await newRepository()).folder);
  await repository.commit(FILES);
  for (const args of act) await repository.git(...args);
  await repository.git('update-index', '--force-write-index');
  await repository.git('status', '--porcelain');
  onTestFinished(async () => {
    await repository.git('fsmonitor--daemon', 'stop').catch(() => '');
  });
  return repository;
}

async function expectStatus({ git }: TestRepository, expected: string): Promise<void> {
  expect(await git('status', '--porcelain', '--untracked-files=all')).toBe(expected);
}
