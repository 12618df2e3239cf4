import { mkdir, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { expect, it } from 'vitest';
import { openUserGit } from '../../../src/source/git/user-git.ts';
import { testRepository, USER_ENVIRONMENT } from '../../support/git.ts';

it('a commit takes paths that are longer together than a command line can be', async () => {
  const repository = await testRepository();
  await repository.commit({ 'a.txt': 'a' });
  const folder = `${'long-'.repeat(45)}/${'folder-'.repeat(30)}`;
  const paths = Array.from({ length: 6000 }, (_, index) => `${folder}/${index}.yaml`);
  expect(paths.join('').length).toBeGreaterThan(2 ** 21);
  await mkdir(join(repository.folder, folder), { recursive: true });
  for (const path of paths) await writeFile(join(repository.folder, path), '');
  const git = await openUserGit(repository.folder, USER_ENVIRONMENT);
  const message = 'many files\n\n# and a line that is no comment\n';
  expect(await git.commit(paths, message)).toBe(await repository.git('rev-parse', 'HEAD'));
  expect((await repository.git('log', '-1', '--format=%B')).trim()).toBe(message.trim());
  expect((await repository.git('ls-tree', '-r', '--name-only', 'HEAD')).split('\n')).toHaveLength(6001);
});
