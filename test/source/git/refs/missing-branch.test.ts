import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { noSuchBranch, requireBranch } from '../../../../src/source/git/refs/missing-branch.ts';
import { testRepository } from '../../../support/git.ts';
import { openSource } from '../support.ts';

const MAIN = 'refs/heads/main';

describe('noSuchBranch', () => {
  it('names the missing branch, and those that exist', () => {
    expect(noSuchBranch('origin', MAIN, ['refs/heads/a', 'refs/heads/b']).message).toBe(
      'origin has no branch "main"; check GIT_BRANCH, or create the branch (there are: a, b)',
    );
  });

  it('names five of those that exist, and shows that there are more', () => {
    const names = ['a', 'b', 'c', 'd', 'e', 'f'].map((name) => `refs/heads/${name}`);
    expect(noSuchBranch('origin', MAIN, names.slice(0, 5)).message).toMatch(/\(there are: a, b, c, d, e\)$/);
    expect(noSuchBranch('origin', MAIN, names).message).toMatch(/\(there are: a, b, c, d, e, …\)$/);
  });

  it('does not list the missing branch among those that exist, if it was made again in the meantime', () => {
    expect(noSuchBranch('origin', MAIN, [MAIN], true).message).toBe(
      'origin has no branch "main" any more; check GIT_BRANCH, or create the branch',
    );
  });
});

describe.each(['refs/heads/refs/heads/main', 'refs/tags/refs/heads/main'])('the ref %s', (other) => {
  it('is not confused with the branch if both refs are packed', async () => {
    const { git, commit, folder } = await testRepository();
    await git('update-ref', other, await commit({ a: '' }));
    const revision = await commit({ b: '' });
    await git('pack-refs', '--all', '--prune');
    const { reader } = await openSource(folder);
    expect(await reader.head()).toEqual({ branch: MAIN, revision });
  });
});

describe('a branch of GIT_BRANCH that is made and deleted again while the head is read', () => {
  it('is reported as missing, not as a branch without a commit, if other branches exist', async () => {
    const { git, commit, folder } = await testRepository();
    const tip = await commit({ a: '' });
    await git('switch', '--quiet', '-c', 'other');
    await git('update-ref', '-d', MAIN);
    await git('symbolic-ref', 'HEAD', MAIN);
    const { reader, repository } = await openSource(folder);
    let reads = 0;
    const head = async () => {
      reads += 1;
      if (reads === 2) await git('update-ref', '-d', MAIN);
      const found = await reader.head();
      if (reads === 1) await git('update-ref', MAIN, tip);
      return found;
    };
    await expect(requireBranch({ ...reader, head }, repository, MAIN).head()).rejects.toMatchObject({
      kind: 'unavailable',
      message: expect.stringContaining('no branch "main"'),
    });
  });
});

it('a symbolic ref to a branch whose name is not UTF-8 is reported as missing after a limited number of reads', async () => {
  const { commit, folder } = await testRepository();
  const tip = await commit({ a: '' });
  const packed = `# pack-refs with: peeled fully-peeled sorted \n${tip} refs/heads/gr\xfcn\n`;
  await writeFile(join(folder, '.git/packed-refs'), packed, 'latin1');
  await writeFile(join(folder, '.git/refs/heads/alias'), 'ref: refs/heads/gr\xfcn\n', 'latin1');
  const { reader } = await openSource(folder, 'alias');
  await expect(reader.head()).rejects.toMatchObject({
    kind: 'unavailable',
    message: expect.stringContaining('no branch "alias"'),
  });
});
