import { chmod, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { expect, it } from 'vitest';
import { checkoutOf } from './checkout.ts';
import { repositoryAt, testRepository } from './git.ts';

it('tells after each kind of change what git says then', async () => {
  const repository = await testRepository();
  const { folder, git } = repository;
  const write = (path: string, text: string) => writeFile(join(folder, path), text);
  await repository.commit({ 'a.yaml': 'a: 1\n', 'sub/b.yaml': 'b: 1\n' });
  for (const change of [
    () => write('sub/b.yaml', 'b: 2\n'),
    () => git('add', '--all'),
    () => write('sub/b.yaml', 'b: 3\n'),
    () => chmod(join(folder, 'a.yaml'), 0o755),
    () => write('c.yaml', 'c: 1\n'),
    () => write('.git/info/exclude', 'c.yaml\n'),
    () => git('commit', '--quiet', '--all', '-m', 'more'),
    () => git('switch', '--quiet', '--create', 'other'),
    () => git('reset', '--quiet', '--soft', 'HEAD~1'),
    () => git('reset', '--quiet', '--hard'),
  ]) {
    // Git writes what it has learned into the index, and after that it is remembered.
    let before = await checkoutOf(repository);
    for (let look = 0; look < 2; look++) before = await checkoutOf(repository);
    await change();
    const told = await checkoutOf(repository);
    expect(told).toEqual(await checkoutOf(repositoryAt(folder)));
    expect(told).not.toEqual(before);
  }
});
