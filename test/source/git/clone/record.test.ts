import { rm } from 'node:fs/promises';
import { join } from 'node:path';
import { expect, it } from 'vitest';
import { testRepository } from '../../../support/git.ts';
import { openSource, publishOne } from '../support.ts';

it('a temporary ref of the record whose commit a loss of power took blocks no write after a start', async () => {
  const repository = await testRepository();
  await repository.commit({ 'ds/apps/web.yaml': 'a\n' });
  const lost = await repository.git('commit-tree', 'HEAD^{tree}', '-m', 'Record ids');
  await repository.git('update-ref', 'refs/holdfast/recording', lost);
  await rm(join(repository.folder, '.git/objects', lost.slice(0, 2), lost.slice(2)));
  const source = await openSource(join(repository.folder, 'ds'));
  const id = await publishOne(source, { 'apps/web.yaml': 'b\n' });
  expect(await repository.git('rev-parse', 'HEAD')).toBe(id);
});
