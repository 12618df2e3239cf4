import { createHash } from 'node:crypto';
import { readFile, readlink } from 'node:fs/promises';
import { join } from 'node:path';
import { type TestRepository, testRepository } from '../../../support/git.ts';
import { openSource, status } from '../support.ts';

export const FILES = { 'ds/apps/web.yaml': 'a\n', 'ds/apps/cron.yaml': 'c\n', 'else.txt': 'e\n' };

/** A repository with FILES, and a source of its folder. */
export async function start() {
  const repository = await testRepository();
  const base = await repository.commit(FILES);
  return { repository, base, source: await openSource(join(repository.folder, 'ds')) };
}

/** What a refused write must leave as it was: a hash of each file, the index, HEAD and the status. */
export async function stateOf(repository: TestRepository): Promise<Record<string, string>> {
  const { folder, git } = repository;
  const files = (await git('ls-files', '-z', '--cached', '--others')).split('\0').filter(Boolean);
  const hashes = files.map(async (path) => {
    const bytes = await readFile(join(folder, path)).catch(async () =>
      readlink(join(folder, path)).catch(() => 'gone'),
    );
    return [path, createHash('sha1').update(bytes).digest('hex')] as const;
  });
  return {
    ...Object.fromEntries(await Promise.all(hashes)),
    index: await git('ls-files', '--stage'),
    head: await git('rev-parse', 'HEAD'),
    status: await status(repository),
  };
}
