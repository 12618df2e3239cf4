import { mkdir, rm, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { expect, it } from 'vitest';
import { refTips } from '../../../../src/source/git/repository/refs.ts';
import type { TestRepository } from '../../../support/git.ts';
import { contextAt, newRepository } from '../support.ts';

const REF = 'refs/holdfast/ids';

function tips({ folder }: TestRepository): Promise<(string | null)[]> {
  return refTips({ context: contextAt(folder), commonFolder: join(folder, '.git') }, [REF]);
}

type Arrange = (repository: TestRepository, file: string) => Promise<unknown>;

const PLACES: { name: string; isThere: boolean; arrange: Arrange }[] = [
  { name: 'nowhere', isThere: false, arrange: async () => undefined },
  { name: 'in its own file', isThere: true, arrange: (it) => it.git('update-ref', REF, 'HEAD') },
  {
    name: 'in packed-refs',
    isThere: true,
    arrange: async (it) => {
      await it.git('update-ref', REF, 'HEAD');
      await it.git('pack-refs', '--all');
    },
  },
  {
    name: 'in packed-refs, behind another whose name ends with it',
    isThere: true,
    arrange: async (it) => {
      await it.git('update-ref', REF, 'HEAD');
      await it.git('update-ref', `refs/a/${REF}`, 'HEAD^{tree}');
      await it.git('pack-refs', '--all');
    },
  },
  {
    name: 'in a symbolic ref',
    isThere: true,
    arrange: (it) => it.git('symbolic-ref', REF, 'refs/heads/main'),
  },
  {
    name: 'not itself, but one below it',
    isThere: false,
    arrange: (it) => it.git('update-ref', `${REF}/x`, 'HEAD'),
  },
  {
    name: 'in a file that a loss of power has emptied',
    isThere: false,
    arrange: async (_, file) => {
      await mkdir(join(file, '..'), { recursive: true });
      await writeFile(file, '');
    },
  },
  {
    name: 'nowhere, in a repository without branches',
    isThere: false,
    arrange: (it) => rm(join(it.folder, '.git/refs/heads'), { recursive: true }),
  },
];

it.each(PLACES)('the tip of a ref is what git says, with the ref $name', async ({ isThere, arrange }) => {
  const repository = await newRepository();
  const commit = await repository.commit({ 'ds/a.yaml': 'a' });
  await arrange(repository, join(repository.folder, '.git', REF));
  expect(await tips(repository)).toEqual([isThere ? commit : null]);
});

it('a packed-refs that cannot be read is an error', async () => {
  const repository = await newRepository();
  await repository.commit({ 'ds/a.yaml': 'a' });
  const packed = join(repository.folder, '.git/packed-refs');
  await mkdir(packed);
  await expect(tips(repository)).rejects.toThrow(/packed-refs/);
});
