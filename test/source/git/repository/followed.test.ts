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

/** Puts HEAD on a commit half way. */
async function bisect({ git }: TestRepository, bad: string, good: string): Promise<void> {
  await git('bisect', 'start', bad, good);
  expect(await git('rev-parse', 'HEAD')).not.toBe(bad);
}

describe('the head while a person looks for a bad commit', () => {
  it('is that of the branch where they began, and writes go there', async () => {
    const { repository, first, last } = await fiveCommits();
    const source = await openSource(repository.folder);
    await bisect(repository, last, first);
    const way = await repository.git('rev-parse', 'HEAD');
    expect(await source.reader.head()).toEqual({ branch: 'refs/heads/main', revision: last });
    const written = await publishOne(source, { [FILE]: '6' });
    expect(await source.reader.head()).toEqual({ branch: 'refs/heads/main', revision: written });
    expect(await repository.git('rev-parse', 'HEAD')).toBe(way);
    await repository.git('bisect', 'bad');
    await repository.git('bisect', 'reset');
    expect(await repository.git('rev-parse', 'HEAD')).toBe(written);
    expect(await repository.git('status', '--porcelain')).toBe('');
  });

  it('is the commit where they began, where HEAD was detached there', async () => {
    const { repository, first, last } = await fiveCommits();
    await repository.git('switch', '--quiet', '--detach');
    const source = await openSource(repository.folder);
    await bisect(repository, last, first);
    expect(await source.reader.head()).toEqual({ branch: null, revision: last });
    await expect(
      source.publisher.publish(await source.reader.head(), [draftOf({ [FILE]: '6' })]),
    ).rejects.toMatchObject({ kind: 'conflict', message: expect.stringContaining('HEAD is detached') });
  });

  it('is what they switch to meanwhile', async () => {
    const { repository, first, last } = await fiveCommits();
    const { reader } = await openSource(repository.folder);
    await bisect(repository, last, first);
    await repository.git('switch', '--quiet', '-c', 'other', first);
    expect(await reader.head()).toEqual({ branch: 'refs/heads/other', revision: first });
  });

  it('was also where HEAD has been', async () => {
    const { repository, first, last } = await fiveCommits();
    const { reader } = await openSource(repository.folder);
    await repository.git('switch', '--quiet', '-c', 'other', first);
    const served = await repository.commit({ [FILE]: 'other' });
    await repository.git('switch', '--quiet', 'main');
    await bisect(repository, last, first);
    expect((await reader.reflogCommits()).flat()).toContain(served);
  });
});

describe('the head while a person rebases', () => {
  it.each(['--merge', '--apply'])('a detached HEAD (%s) is the commit where they began', async (kind) => {
    const { repository, first, last } = await fiveCommits();
    await repository.git('switch', '--quiet', '-c', 'other', first);
    await repository.commit({ [FILE]: 'other' });
    await repository.git('switch', '--quiet', '--detach', 'main');
    const { reader } = await openSource(repository.folder);
    await expect(repository.git('rebase', kind, 'other')).rejects.toThrow();
    expect(await repository.git('rev-parse', 'HEAD')).not.toBe(last);
    expect(await reader.head()).toEqual({ branch: null, revision: last });
  });
});

describe('a branch that is another name of one', () => {
  const NAMES = ['main', 'master'] as const;

  it.each(
    NAMES.flatMap((fixed) => [
      { fixed, head: 'main' },
      { fixed, head: 'master' },
    ]),
  )(
    'is that one: a write to $fixed, with $head checked out, leaves nothing undone',
    async ({ fixed, head }) => {
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

describe('a HEAD that is a link, as git made it once', () => {
  it('names the branch whose file it leads to', async () => {
    const { repository } = await fiveCommits();
    await rm(join(repository.folder, '.git/HEAD'));
    await symlink('refs/heads/main', join(repository.folder, '.git/HEAD'));
    const source = await openSource(repository.folder);
    const written = await publishOne(source, { [FILE]: '6' });
    expect(await source.reader.head()).toEqual({ branch: 'refs/heads/main', revision: written });
    expect(await repository.git('status', '--porcelain')).toBe('');
  });
});

describe('a HEAD that names no branch', () => {
  it('is read, and takes no write: a fetch would take that away', async () => {
    const { repository, last } = await fiveCommits();
    await repository.git('update-ref', 'refs/remotes/origin/main', last);
    await repository.git('symbolic-ref', 'HEAD', 'refs/remotes/origin/main');
    const source = await openSource(repository.folder);
    expect(await source.reader.head()).toEqual({ branch: null, revision: last });
    await expect(publishOne(source, { [FILE]: '6' })).rejects.toMatchObject({ kind: 'conflict' });
  });
});
