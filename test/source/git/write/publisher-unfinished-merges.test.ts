import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { temporaryFolder } from '../../../support/folder.ts';
import { repositoryAt } from '../../../support/git.ts';
import { openSource, publishOne, write } from '../support.ts';
import { start, stateOf } from './user-work.ts';

describe('an unfinished rebase of the followed branch', () => {
  it.each([
    ['with the merge backend', ['--merge'], false],
    ['with the apply backend', ['--apply'], false],
    ['in another work tree', ['--merge'], true],
  ])('%s makes a write a conflict until it is over', async (_, options, isLinked) => {
    const { repository } = await start();
    await repository.git('branch', 'side');
    await repository.commit({ 'else.txt': 'main' });
    await repository.git('switch', '--quiet', 'side');
    await repository.commit({ 'else.txt': 'side' });
    const linked = join(await temporaryFolder(), 'linked');
    if (isLinked) await repository.git('worktree', 'add', '--quiet', linked, 'main');
    else await repository.git('switch', '--quiet', 'main');
    const rebased = isLinked ? repositoryAt(linked) : repository;
    await expect(rebased.git('rebase', ...options, 'side')).rejects.toThrow();
    const source = await openSource(join(repository.folder, 'ds'), 'main');
    await expect(publishOne(source, { 'apps/web.yaml': 'b\n' })).rejects.toMatchObject({
      kind: 'conflict',
      message: expect.stringMatching(/main is being rebased/),
    });
    await rebased.git('rebase', '--skip');
    await rebased.git('switch', '--quiet', '--detach');
    await publishOne(source, { 'apps/web.yaml': 'b\n' });
    expect(await repository.git('log', '-1', '--format=%an', 'main')).toBe('Olga');
  });
});

describe('unmerged files in the index', () => {
  it('of an unfinished merge make a write a conflict that changes nothing, until the merge is aborted', async () => {
    const { repository, source } = await start();
    await repository.git('switch', '--quiet', '-c', 'side');
    await repository.commit({ 'else.txt': 'side' });
    await repository.git('switch', '--quiet', 'main');
    await repository.commit({ 'else.txt': 'main' });
    await expect(repository.git('merge', 'side')).rejects.toThrow();
    const before = await stateOf(repository);
    await expect(publishOne(source, { 'apps/web.yaml': 'b\n' })).rejects.toMatchObject({
      kind: 'conflict',
      message: expect.stringMatching(/resolve your current index first/),
    });
    expect(await stateOf(repository)).toEqual(before);
    await repository.git('merge', '--abort');
    await publishOne(source, { 'apps/web.yaml': 'b\n' });
  });

  it('of a stash with conflicts make a write a conflict, until they are resolved', async () => {
    const { repository, source } = await start();
    await write(repository, 'else.txt', 'mine');
    await repository.git('stash');
    await repository.commit({ 'else.txt': 'main' });
    await expect(repository.git('stash', 'pop')).rejects.toThrow();
    await expect(publishOne(source, { 'apps/web.yaml': 'b\n' })).rejects.toMatchObject({
      kind: 'conflict',
      message: expect.stringMatching(/resolve your current index first/),
    });
    await repository.git('add', 'else.txt');
    await publishOne(source, { 'apps/web.yaml': 'b\n' });
    expect(await repository.git('status', '--porcelain')).toBe('M  else.txt');
  });
});
