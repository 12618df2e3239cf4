import { describe, expect, it } from 'vitest';
import { type TestRepository, testRepository } from '../../../support/git.ts';
import { openSource } from '../support.ts';

/** Resolves to a repository with two commits, and to the first one. */
async function twoCommits(): Promise<{ repository: TestRepository; first: string }> {
  const repository = await testRepository();
  const first = await repository.commit({ a: '1' });
  await repository.commit({ a: '2' });
  return { repository, first };
}

type Make = (repository: TestRepository, first: string) => Promise<string>;

/** What leads to the first commit: how it is made, and its name unless that is what making it returns. */
const KNOWN: [string, Make, string?][] = [
  ['a full id', async (_, first) => first],
  ['the first digits of an id', async (_, first) => first.slice(0, 7)],
  ['a branch', ({ git }, first) => git('branch', 'topic', first), 'topic'],
  ['a branch in a folder', ({ git }, first) => git('branch', 'a/b', first), 'a/b'],
  ['a branch with signs', ({ git }, first) => git('branch', '#1-@x(y)!', first), '#1-@x(y)!'],
  ['a branch that is not ASCII', ({ git }, first) => git('branch', 'größe', first), 'größe'],
  ['a tag', ({ git }, first) => git('tag', 'v1', first), 'v1'],
  ['a tag with a message', ({ git }, first) => git('tag', '-a', '-m', 'x', 'v1', first), 'v1'],
  ['a tag of a package', ({ git }, first) => git('tag', '@scope/web@1.2.3', first), '@scope/web@1.2.3'],
  ['a tag of digits', ({ git }, first) => git('tag', '20260101', first), '20260101'],
  [
    'a branch that stands for another one',
    async ({ git }, first) => {
      await git('branch', 'trunk', first);
      return git('symbolic-ref', 'refs/heads/master', 'refs/heads/trunk');
    },
    'master',
  ],
];

describe('resolve', () => {
  it.each(KNOWN)('knows %s', async (_, make, name) => {
    const { repository, first } = await twoCommits();
    const made = await make(repository, first);
    const { reader } = await openSource(repository.folder);
    expect(await reader.resolve(name ?? made)).toBe(first);
  });

  it.each([
    ['an ancestor', 'main~1'],
    ['a peeled tag', 'v1^{}'],
    ['an entry of a reflog', 'main@{0}'],
    ['a range', 'main..topic'],
    ['a path', 'main:a'],
    ['a message', ':/x'],
    ['HEAD', 'HEAD'],
    ['an abbreviation of HEAD', '@'],
    ['a full name', 'refs/heads/main'],
    ['an option', '--all'],
    ['a pattern', 'ma*'],
    ['a name with a line break', 'main\n'],
    ['a name with a NUL', 'main\0'],
    ['a name that is longer than names of files', 'x'.repeat(300)],
    ['a very long name', 'x/'.repeat(3000)],
    ['a tree', 'tree'],
    ['too few digits', 'abc'],
    ['an unknown id', '1'.repeat(40)],
  ])('does not know %s', async (_, name) => {
    const { repository } = await twoCommits();
    await repository.git('tag', 'v1');
    await repository.git('tag', 'tree', 'HEAD^{tree}');
    await repository.git('update-ref', 'refs/remotes/origin/main', 'HEAD');
    await repository.git('symbolic-ref', 'refs/remotes/origin/HEAD', 'refs/remotes/origin/main');
    const { reader } = await openSource(repository.folder);
    expect(await reader.resolve(name)).toBeNull();
  });
});
