import { mkdir, rm, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { realBranch, refTips } from '../../../../src/source/git/refs/tips.ts';
import type { TestRepository } from '../../../support/git.ts';
import { contextAt, newRepository, repositoryOf } from '../support.ts';

const REF = 'refs/holdfast/record/0123456789ab';

async function tipOf({ folder }: TestRepository): Promise<string | null | undefined> {
  const [tip] = await refTips({ context: contextAt(folder), commonFolder: join(folder, '.git') }, [REF]);
  return tip;
}

type Arrange = (repository: TestRepository, file: string) => Promise<unknown>;

const PRESENT: [string, Arrange][] = [
  ['has a file of its own', ({ git }) => git('update-ref', REF, 'HEAD')],
  [
    'is in packed-refs',
    async ({ git }) => {
      await git('update-ref', REF, 'HEAD');
      await git('pack-refs', '--all');
    },
  ],
  [
    'is in packed-refs after a ref whose name ends with its own',
    async ({ git }) => {
      await git('update-ref', REF, 'HEAD');
      await git('update-ref', `refs/a/${REF}`, 'HEAD^{tree}');
      await git('pack-refs', '--all');
    },
  ],
  ['is symbolic', ({ git }) => git('symbolic-ref', REF, 'refs/heads/main')],
];

const MISSING: [string, Arrange][] = [
  ['does not exist', async () => undefined],
  ['is only a folder of other refs', ({ git }) => git('update-ref', `${REF}/x`, 'HEAD')],
  [
    'has a file that a loss of power has emptied',
    async (_, file) => {
      await mkdir(join(file, '..'), { recursive: true });
      await writeFile(file, '');
    },
  ],
  [
    'does not exist, in a repository without a folder of branches',
    ({ folder }) => rm(join(folder, '.git/refs/heads'), { recursive: true }),
  ],
];

async function arranged(arrange: Arrange) {
  const repository = await newRepository();
  const commit = await repository.commit({ 'ds/a.yaml': 'a' });
  await arrange(repository, join(repository.folder, '.git', REF));
  return { repository, commit };
}

describe('refTips', () => {
  it.each(PRESENT)('resolves to the id of a ref that %s', async (_name, arrange) => {
    const { repository, commit } = await arranged(arrange);
    expect(await tipOf(repository)).toBe(commit);
  });

  it.each(MISSING)('resolves to null for a ref that %s', async (_name, arrange) => {
    const { repository } = await arranged(arrange);
    expect(await tipOf(repository)).toBeNull();
  });

  it('rejects if packed-refs cannot be read', async () => {
    const { repository } = await arranged(({ folder }) => mkdir(join(folder, '.git/packed-refs')));
    await expect(tipOf(repository)).rejects.toThrow(/packed-refs/);
  });
});

describe('realBranch', () => {
  it.each([
    ['through another one to a branch', { one: 'two', two: 'three' }, 'three'],
    ['in a circle to some branch of it', { one: 'two', two: 'one' }, 'two'],
  ])('follows a symbolic ref that leads %s', async (_name, refs, branch) => {
    const { folder } = await newRepository();
    for (const [name, target] of Object.entries(refs))
      await writeFile(join(folder, '.git/refs/heads', name), `ref: refs/heads/${target}\n`);
    expect(await realBranch(repositoryOf(folder), 'refs/heads/one')).toBe(`refs/heads/${branch}`);
  });
});
