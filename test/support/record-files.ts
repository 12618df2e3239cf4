import { createHash } from 'node:crypto';
import { type TestRepository, testRepository } from './git.ts';
import { RECORD } from './lost-store.ts';

type Files = Readonly<Record<string, string | Uint8Array>>;

/**
 * The name of a section of the record of ids, which is a folder in its tree: for a folder of the repository and, with
 * `GIT_REMOTE`, a branch.
 */
export function sectionOf(folder = 'desired-state', branch: string | null = null): string {
  const line = branch === null ? folder : `${folder}:refs/heads/${branch}`;
  return createHash('sha256').update(line).digest('hex').slice(0, 32);
}

/**
 * Prints all files of a tree by one call of the shell, since starting processes is slow and some tests poll with this.
 */
const READ_ALL =
  '!read_all() { git ls-tree --format="%(objectname) %(path)" "$1" | git cat-file --batch="%(objectsize) %(rest)"; }; read_all';

/** The texts of a section of the record, by file name. Rejects if there is no such section. */
export async function recordFiles(
  { git }: TestRepository,
  section = sectionOf(),
): Promise<Record<string, string>> {
  const answer = Buffer.from(
    await git('-c', `alias.read-all=${READ_ALL}`, 'read-all', `${RECORD}:${section}`),
  );
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
  if (Object.keys(files).length === 0) throw new Error(`there is no section ${section} in the record`);
  return files;
}

/** The same files, by their paths in the tree of the record. */
export function inSection(files: Files, section = sectionOf()): Files {
  return Object.fromEntries(Object.entries(files).map(([name, text]) => [`${section}/${name}`, text]));
}

/** Replaces the whole record by these files, as a push to its ref would; resolves to the commit. */
export async function replaceRecord(repository: TestRepository, files: Files): Promise<string> {
  const other = await testRepository();
  const tip = await other.commit(files);
  await repository.git('fetch', '--quiet', other.folder, `+main:${RECORD}`);
  return tip;
}

/** Changes fields of `meta.json` in the section of a manager in a clone, and drops all other sections. */
export async function changeMeta(repository: TestRepository, changes: object): Promise<string> {
  const files = await recordFiles(repository);
  const meta = { ...JSON.parse(files['meta.json'] ?? ''), ...changes };
  return replaceRecord(repository, inSection({ ...files, 'meta.json': JSON.stringify(meta) }));
}

/** An id that differs for each version of a section; an empty text if there is no such section. */
export async function sectionVersion({ git }: TestRepository, section = sectionOf()): Promise<string> {
  const tip = await git('for-each-ref', '--format=%(objectname)', RECORD);
  return tip === '' ? '' : git('ls-tree', '--format=%(objectname)', tip, section);
}
