import { chmod, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { checkoutOf } from './checkout.ts';
import { repositoryAt, testRepository } from './git.ts';

describe('checkoutOf', () => {
  it('returns the new state after each kind of change, although it caches', async () => {
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
      // The first call can refresh the index, so that only a later one is cached.
      let before = await checkoutOf(repository);
      for (let call = 0; call < 2; call++) before = await checkoutOf(repository);
      await change();
      const after = await checkoutOf(repository);
      // Another object for the same repository has no cache.
      expect(after).toEqual(await checkoutOf(repositoryAt(folder)));
      expect(after).not.toEqual(before);
    }
  });
});
