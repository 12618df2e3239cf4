import { createHash } from 'node:crypto';
import { type TestRepository, testRepository } from './git.ts';

type Files = Readonly<Record<string, string | Uint8Array>>;

/** The ref of the record of ids of a folder of the repository and, with `GIT_REMOTE`, a branch. */
export function recordOf(folder = 'desired-state', branch: string | null = null): string {
  const line = branch === null ? folder : `${folder}:refs/heads/${branch}`;
  return `refs/holdfast/record/${createHash('sha256').update(line).digest('hex').slice(0, 12)}`;
}

/** The ref of the record of a manager in a clone, and of one with `GIT_REMOTE` that follows `main`. */
export const RECORD = recordOf();
export const REMOTE_RECORD = recordOf('desired-state', 'main');

/**
 * Prints all files of a tree by one call of the shell, since starting processes is slow and some tests poll with this.
 */
const READ_ALL =
  '!read_all() { git ls-tree --format="%(objectname) %(path)" "$1" | git cat-file --batch="%(objectsize) %(rest)"; }; read_all';

/** The texts of a record, by file name. Rejects if there is no record at the ref. */
export async function recordFiles({ git }: TestRepository, record = RECORD): Promise<Record<string, string>> {
  const answer = Buffer.from(await git('-c', `alias.read-all=${READ_ALL}`, 'read-all', record));
  const files: Record<string, string> = {};
  for (let at = 0; at < answer.length; ) {
    const line = answer.toString('utf8', at, answer.indexOf('\n', at));
    const [, size = '', name = ''] = /^(\d+) (.+)$/.exec(line) ?? [];
    if (name === '') throw new Error(`a file of the record cannot be read: ${line}`);
    const start = at + Buffer.byteLength(line) + 1;
    at = start + Number(size);
    files[name] = answer.toString('utf8', start, at);
    at += 1;
  }
  if (Object.keys(files).length === 0) throw new Error(`there is no record at ${record}`);
  return files;
}

/** Replaces the record by these files, as a push to its ref would; resolves to the commit. */
export async function replaceRecord(repository: TestRepository, files: Files): Promise<string> {
  const other = await testRepository();
  const tip = await other.commit(files);
  await repository.git('fetch', '--quiet', other.folder, `+main:${RECORD}`);
  return tip;
}

/** Changes fields of `meta.json` in the record of a manager in a clone. */
export async function changeMeta(repository: TestRepository, changes: object): Promise<string> {
  const files = await recordFiles(repository);
  const meta = { ...JSON.parse(files['meta.json'] ?? ''), ...changes };
  return replaceRecord(repository, { ...files, 'meta.json': JSON.stringify(meta) });
}
