import { rm, symlink } from 'node:fs/promises';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { type TestRepository, testRepository } from '../../../support/git.ts';
import { draftOf, openSource, publishOne } from '../support.ts';

const FILE = 'apps/web.yaml';

/** Five commits of one file on `main`; resolves to their ids. */
async function fiveCommits() {
  const repository = await testRepository();
  const commits: string[] = [];
  for (const text of ['1', '2', '3', '4', '5']) commits.push(await repository.commit({ [FILE]: text }));
  return { repository, first: commits[0] as string, last: commits[4] as string };
}

/** Starts a bisection, which detaches HEAD at a commit between the two. */
async function startBisection({ git }: TestRepository, bad: string, good: string): Promise<void> {
  await git('bisect', 'start', bad, good);
  expect(await git('rev-parse', 'HEAD')).not.toBe(bad);
}

describe('a bisection', () => {
  it('leaves the head on the branch on which it started, and writes go to that branch', async () => {
    const { repository, first, last } = await fiveCommits();
    const source = await openSource(repository.folder);
    await startBisection(repository, last, first);
    const midway = await repository.git('rev-parse', 'HEAD');
    expect(await source.reader.head()).toEqual({ branch: 'refs/heads/main', revision: last });
    const written = await publishOne(source, { [FILE]: '6' });
    expect(await source.reader.head()).toEqual({ branch: 'refs/heads/main', revision: written });
    expect(await repository.git('rev-parse', 'HEAD')).toBe(midway);
    await repository.git('bisect', 'bad');
    await repository.git('bisect', 'reset');
    expect(await repository.git('rev-parse', 'HEAD')).toBe(written);
    expect(await repository.git('status', '--porcelain')).toBe('');
  });

  it('leaves the head at the commit at which it started if HEAD was detached; writes are refused', async () => {
    const { repository, first, last } = await fiveCommits();
    await repository.git('switch', '--quiet', '--detach');
    const source = await openSource(repository.folder);
    await startBisection(repository, last, first);
    expect(await source.reader.head()).toEqual({ branch: null, revision: last });
    await expect(
      source.publisher.publish(await source.reader.head(), [draftOf({ [FILE]: '6' })]),
    ).rejects.toMatchObject({ kind: 'conflict', message: expect.stringContaining('HEAD is detached') });
  });

  it('does not hold the head on its branch after the user has switched to another one', async () => {
    const { repository, first, last } = await fiveCommits();
    const { reader } = await openSource(repository.folder);
    await startBisection(repository, last, first);
    await repository.git('switch', '--quiet', '-c', 'other', first);
    expect(await reader.head()).toEqual({ branch: 'refs/heads/other', revision: first });
  });
});

describe('a rebase of a detached HEAD', () => {
  it.each(['--merge', '--apply'])(
    'leaves the head at the commit at which it started (git rebase %s)',
    async (kind) => {
      const { repository, first, last } = await fiveCommits();
      await repository.git('switch', '--quiet', '-c', 'other', first);
      await repository.commit({ [FILE]: 'other' });
      await repository.git('switch', '--quiet', '--detach', 'main');
      const { reader } = await openSource(repository.folder);
      await expect(repository.git('rebase', kind, 'other')).rejects.toThrow();
      expect(await repository.git('rev-parse', 'HEAD')).not.toBe(last);
      expect(await reader.head()).toEqual({ branch: null, revision: last });
    },
  );
});

describe('two names of one branch, where master is a symbolic ref to main', () => {
  const NAMES = ['main', 'master'] as const;

  it.each(NAMES.flatMap((fixed) => NAMES.map((head) => [fixed, head] as const)))(
    'are both moved by a write to %s while %s is checked out, and the checkout stays clean',
    async (fixed, head) => {
      const { repository, last } = await fiveCommits();
      await repository.git('symbolic-ref', 'refs/heads/master', 'refs/heads/main');
      await repository.git('symbolic-ref', 'HEAD', `refs/heads/${head}`);
      const source = await openSource(repository.folder, fixed);
      expect(await source.reader.head()).toEqual({ branch: 'refs/heads/main', revision: last });
      const written = await publishOne(source, { [FILE]: '6' });
      expect(await repository.git('rev-parse', 'main', 'master', 'HEAD')).toBe(
        `${written}\n`.repeat(3).trim(),
      );
      expect(await repository.git('status', '--porcelain')).toBe('');
      expect(await repository.git('symbolic-ref', 'refs/heads/master')).toBe('refs/heads/main');
    },
  );
});

describe('a HEAD that is a symlink, as very old gits made it', () => {
  it('stands for the branch to whose file it leads', async () => {
    const { repository } = await fiveCommits();
    await rm(join(repository.folder, '.git/HEAD'));
    await symlink('refs/heads/main', join(repository.folder, '.git/HEAD'));
    const source = await openSource(repository.folder);
    const written = await publishOne(source, { [FILE]: '6' });
    expect(await source.reader.head()).toEqual({ branch: 'refs/heads/main', revision: written });
    expect(await repository.git('status', '--porcelain')).toBe('');
  });
});

describe('a HEAD that names a ref other than a branch', () => {
  it('is read, but writes are refused, since a fetch would undo them', async () => {
    const { repository, last } = await fiveCommits();
    await repository.git('update-ref', 'refs/remotes/origin/main', last);
    await repository.git('symbolic-ref', 'HEAD', 'refs/remotes/origin/main');
    const source = await openSource(repository.folder);
    expect(await source.reader.head()).toEqual({ branch: null, revision: last });
    await expect(publishOne(source, { [FILE]: '6' })).rejects.toMatchObject({ kind: 'conflict' });
  });
});
