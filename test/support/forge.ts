import { type TestRepository, testRepository } from './git.ts';
import { RECORD } from './loss.ts';

/** The files of the record. */
export async function recordFiles({ git, show }: TestRepository): Promise<Record<string, string>> {
  const names = (await git('ls-tree', '--name-only', RECORD)).split('\n');
  const entries = names.map(async (name) => [name, await show(name, RECORD)] as const);
  return Object.fromEntries(await Promise.all(entries));
}

/** Puts files of anybody's making in the place of the record, as a push would. */
export async function forgeRecord(
  repository: TestRepository,
  files: Readonly<Record<string, string | Uint8Array>>,
): Promise<string> {
  const other = await testRepository();
  const tip = await other.commit(files);
  await repository.git('fetch', '--quiet', other.folder, `+main:${RECORD}`);
  return tip;
}

/** Changes what the record says of itself. */
export async function changeMeta(repository: TestRepository, changes: object): Promise<string> {
  const files = await recordFiles(repository);
  const meta = { ...JSON.parse(files['meta.json'] ?? ''), ...changes };
  return forgeRecord(repository, { ...files, 'meta.json': JSON.stringify(meta) });
}
