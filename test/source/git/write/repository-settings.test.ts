import { rm, utimes } from 'node:fs/promises';
import { join } from 'node:path';
import { describe, expect, it, onTestFinished } from 'vitest';
import { writeFiles } from '../../../support/folder.ts';
import { repositoryAt, type TestRepository } from '../../../support/git.ts';
import { draftOf, newRepository, openSource, publishOne, read, status } from '../support.ts';

const FILES = {
  'ds/apps/web.yaml': 'a: web\n',
  'ds/apps/old.yaml': 'a: old\n',
  'ds/device-groups/x.yaml': 'x\n',
  'elsewhere/a/b.txt': 'b\n',
};
const EDITS = { 'apps/web.yaml': 'a: web\nb: 1\n', 'apps/old.yaml': null, 'apps/new.yaml': 'n\n' };

/** Settings that users make for large repositories, or on advice. An older git ignores some of them. */
describe.each([
  ['feature.manyFiles', [['config', 'feature.manyFiles', 'true']]],
  ['a split index', [['config', 'core.splitIndex', 'true']]],
  ['an index without a hash', [['config', 'index.skipHash', 'true']]],
  ['the fsmonitor daemon', [['config', 'core.fsmonitor', 'true']]],
  ['a cache of untracked files', [['config', 'core.untrackedCache', 'true']]],
  [
    'settings for each work tree',
    [
      ['config', 'extensions.worktreeConfig', 'true'],
      ['config', '--worktree', 'core.autocrlf', 'input'],
    ],
  ],
  [
    'a sparse index',
    [
      ['config', 'index.sparse', 'true'],
      ['sparse-checkout', 'set', '--cone', 'ds'],
    ],
  ],
  [
    'a multi-pack index',
    [
      ['config', 'core.multiPackIndex', 'true'],
      ['repack', '-adq', '--write-midx'],
    ],
  ],
])('a repository with %s', (_, commands) => {
  it('is written to, and git status shows only the changes of the user', async () => {
    const repository = await repositoryWith(commands);
    const source = await openSource(join(repository.folder, 'ds'));
    await publishOne(source, EDITS);
    await expectStatus(repository, '');
    await writeFiles(repository.folder, { 'ds/apps/web.yaml': 'mine\n' });
    await expectStatus(repository, ' M ds/apps/web.yaml');
    await expect(publishOne(source, { 'apps/web.yaml': 'changed\n' })).rejects.toMatchObject({
      kind: 'conflict',
    });
    const mine = await repository.commit({ 'ds/apps/mine.yaml': 'm\n' });
    expect(
      await repository.git('rev-parse', `${await publishOne(source, { 'apps/web.yaml': 'c\n' })}^`),
    ).toBe(mine);
    await expectStatus(repository, '');
  });
});

describe('a repository with core.ignoreCase', () => {
  it('has a new file beside one whose name differs only by case', async () => {
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

describe('two new files of one write whose names differ only by case', () => {
  async function publishing(ignoresCase: string, branch: string) {
    const repository = await repositoryWith([
      ['config', 'core.ignoreCase', ignoresCase],
      ['branch', 'other'],
    ]);
    const { reader, publisher } = await openSource(join(repository.folder, 'ds'), branch);
    const drafts = [draftOf({ 'apps/New.yaml': '1\n' }), draftOf({ 'apps/new.yaml': '2\n' })];
    return { repository, published: publisher.publish(await reader.head(), drafts) };
  }

  it('are refused if they would share a file of the work tree', async () => {
    const { repository, published } = await publishing('true', 'main');
    await expect(published).rejects.toMatchObject({
      kind: 'conflict',
      message: expect.stringContaining('differs only by case'),
      details: { paths: ['ds/apps/New.yaml'] },
    });
    expect(await read(repository, 'ds/apps/new.yaml')).toBeNull();
    await expectStatus(repository, '');
  });

  it.each([
    ['core.ignoreCase is off', 'false', 'main'],
    ['the branch is not checked out', 'true', 'other'],
  ])('are written if %s', async (_, ignoresCase, branch) => {
    const { repository, published } = await publishing(ignoresCase, branch);
    expect(await published).toHaveLength(2);
    await expectStatus(repository, '');
  });
});

describe('a repository whose attributes match in either case', () => {
  it('is written to, since its converted file does not count as uncommitted work', async () => {
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

/** A repository in which these git commands ran, and whose index was written with the new settings. */
async function repositoryWith(commands: readonly string[][]): Promise<TestRepository> {
  const repository = repositoryAt((await newRepository()).folder);
  await repository.commit(FILES);
  for (const args of commands) await repository.git(...args);
  await repository.git('update-index', '--force-write-index');
  await repository.git('status', '--porcelain');
  onTestFinished(async () => {
    await repository.git('fsmonitor--daemon', 'stop').catch(() => '');
  });
  return repository;
}

async function expectStatus(repository: TestRepository, expected: string): Promise<void> {
  expect(await status(repository)).toBe(expected);
}
