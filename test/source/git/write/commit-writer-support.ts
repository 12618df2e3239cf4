import { onTestFinished } from 'vitest';
import { type CommitWriter, openCommitWriter } from '../../../../src/source/git/write/commit-writer.ts';
import { type TestRepository, testRepository } from '../../../support/git.ts';
import { repositoryOf } from '../support.ts';

/** A writer whose files are below `prefix`; closed when the test is over. */
export function writerAt({ folder }: TestRepository, prefix = 'ds'): CommitWriter {
  const writer = openCommitWriter(repositoryOf(folder, prefix), async () => undefined);
  onTestFinished(() => writer.close());
  return writer;
}

/** `<mode> <path>` of everything at a revision. */
export async function filesAt({ git }: TestRepository, revision: string): Promise<string[]> {
  const lines = (await git('ls-tree', '-r', '-z', revision)).split('\0').filter(Boolean);
  return lines.map((line) => line.replace(/^(\d+) [^\t]*\t/, '$1 '));
}

/** A repository with one commit, and a writer in it. */
export async function start(files: Record<string, string> = { 'ds/apps/web.yaml': 'a\n' }) {
  const repository = await testRepository();
  return { repository, base: await repository.commit(files), writer: writerAt(repository) };
}
