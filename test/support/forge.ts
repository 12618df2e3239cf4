import { createHash } from 'node:crypto';
import { type TestRepository, testRepository } from './git.ts';
import { RECORD } from './loss.ts';

type Files = Readonly<Record<string, string | Uint8Array>>;

/** The folder of a section of the record: of a folder of the repository, or of a folder and a branch. */
export function sectionOf(place = 'desired-state', branch: string | null = null): string {
  const line = branch === null ? place : `${place}:refs/heads/${branch}`;
  return createHash('sha256').update(line).digest('hex').slice(0, 32);
}

/** The files of a section of the record; without a name, that of a manager in a clone. */
export async function recordFiles(
  { git, show }: TestRepository,
  section = sectionOf(),
): Promise<Record<string, string>> {
  const names = (await git('ls-tree', '--name-only', `${RECORD}:${section}`)).split('\n');
  const entries = names.map(async (name) => [name, await show(`${section}/${name}`, RECORD)] as const);
  return Object.fromEntries(await Promise.all(entries));
}

/** Files as they stand in a section. */
export function inSection(files: Files, section = sectionOf()): Files {
  return Object.fromEntries(Object.entries(files).map(([name, text]) => [`${section}/${name}`, text]));
}

/** Puts files of anybody's making in the place of the record, as a push would. */
export async function forgeRecord(repository: TestRepository, files: Files): Promise<string> {
  const other = await testRepository();
  const tip = await other.commit(files);
  await repository.git('fetch', '--quiet', other.folder, `+main:${RECORD}`);
  return tip;
}

/** Changes what the section of a manager in a clone says of itself; nothing else is in the record then. */
export async function changeMeta(repository: TestRepository, changes: object): Promise<string> {
  const files = await recordFiles(repository);
  const meta = { ...JSON.parse(files['meta.json'] ?? ''), ...changes };
  return forgeRecord(repository, inSection({ ...files, 'meta.json': JSON.stringify(meta) }));
}

/** What tells the version of a section; an empty text where there is none. */
export async function sectionVersion({ git }: TestRepository, section = sectionOf()): Promise<string> {
  const tip = await git('for-each-ref', '--format=%(objectname)', RECORD);
  return tip === '' ? '' : git('ls-tree', '--format=%(objectname)', tip, section);
}

/** Turns a section into the record that a manager wrote before there were sections. */
export async function makeUndivided(repository: TestRepository, section = sectionOf()): Promise<string> {
  const files = await recordFiles(repository, section);
  const { branch: _, highest: __, ...meta } = JSON.parse(files['meta.json'] ?? '');
  return forgeRecord(repository, { ...files, 'meta.json': `${JSON.stringify(meta, null, 2)}\n` });
}
