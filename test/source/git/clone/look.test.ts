import { rm } from 'node:fs/promises';
import { join } from 'node:path';
import { expect, it, onTestFinished } from 'vitest';
import { lookBeforePush } from '../../../../src/source/git/clone/look.ts';
import { openObjects } from '../../../../src/source/git/read/objects.ts';
import { testRepository } from '../../../support/git.ts';
import { contextAt, draftOf, openSource, write } from '../support.ts';

it('a look asks git once about a folder in which a write changes many files, and still finds conflicts in it', async () => {
  const repository = await testRepository();
  const paths = Array.from({ length: 100 }, (_, index) => `groups/g${index}.yaml`);
  const base = await repository.commit(Object.fromEntries(paths.map((path) => [`ds/${path}`, 'a\n'])));
  const source = await openSource(join(repository.folder, 'ds'));
  const objects = openObjects(contextAt(repository.folder));
  onTestFinished(() => objects.close());
  const asked: string[] = [];
  const info = (expression: string) => {
    asked.push(expression);
    return objects.info(expression);
  };
  const edits = [...paths, 'groups/new.yaml', 'apps/one.yaml'].map((path) => ({ path, text: 'b\n' }));
  const draft = { ...draftOf({}), edits };
  const clone = { repository: source.repository, objects: { ...objects, info } };
  expect(await lookBeforePush(clone, 'refs/heads/main', base, [draft])).toMatchObject({ isCheckedOut: true });
  expect(asked).toEqual([`${base}:ds/groups`, `${base}:ds/apps/one.yaml`]);
  const head = await source.reader.head();
  await rm(join(repository.folder, 'ds/groups/g7.yaml'));
  await expect(source.publisher.publish(head, [draft])).rejects.toMatchObject({
    kind: 'conflict',
    details: { paths: ['ds/groups/g7.yaml'] },
  });
  await write(repository, 'ds/groups/new.yaml', 'mine');
  await expect(source.publisher.publish(head, [draft])).rejects.toMatchObject({
    kind: 'conflict',
    details: { paths: ['ds/groups/new.yaml', 'ds/groups/g7.yaml'] },
  });
});
