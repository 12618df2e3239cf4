import { createHash } from 'node:crypto';
import { type TestRepository, testRepository } from './git.ts';
import { RECORD } from './lost-store.ts';

type Files = Readonly<Record<string, string | Uint8Array>>;

/** The folder of a section of the record: of a folder of the repository, or of a folder and a branch. */
export function sectionOf(place = 'desired-state', branch: string | null = null): string {
  const line = branch === null ? place : `${place}:refs/heads/${branch}`;
  return createHash('sha256').update(line).digest('hex').slice(0, 32);
}

/** All files of a folder in one go: each process that a test starts itself costs the most, and some poll with this. */
const READ_ALL =
  '!read_all() { git ls-tree --format="%(objectname) %(path)" "$1" | git cat-file --batch="%(objectsize) %(rest)"; }; read_all';

/** The files of a section of the record; without a name, that of a manager in a clone. Rejects where there is none. */
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

/** Files as they stand in a section. */
export function inSection(files: Files, section = sectionOf()): Files {
  return Object.fromEntries(Object.entries(files).map(([name, text]) => [`${section}/${name}`, text]));
}

/** Puts files of anybody's making in the place of the record, as a push would. */
export async function replaceRecord(repository: TestRepository, files: Files): Promise<string> {
  const other = await testRepository();
  const tip = await other.commit(files);
  await repository.git('fetch', '--quiet', other.folder, `+main:${RECORD}`);
  return tip;
}

/** Changes what the section of a manager in a clone says of itself; nothing else is in the record then. */
export async function changeMeta(repository: TestRepository, changes: object): Promise<string> {
  const files = await recordFiles(repository);
  const meta = { ...JSON.parse(files['meta.json'] ?? ''), ...changes };
  return replaceRecord(repository, inSection({ ...files, 'meta.json': JSON.stringify(meta) }));
}

/** What tells the version of a section; an empty text where there is none. */
export async function sectionVersion({ git }: TestRepository, section = sectionOf()): Promise<string> {
  const tip = await git('for-each-ref', '--format=%(objectname)', RECORD);
  return tip === '' ? '' : git('ls-tree', '--format=%(objectname)', tip, section);
}
