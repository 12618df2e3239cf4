import { readFile } from 'node:fs/promises';
import type { FileDelta, FileVersion, FolderCommit, Person } from '../../../history/commit.ts';
import type { FolderLog, LogQuery } from '../../../history/history.ts';
import { commands } from '../process/commands.ts';
import { OutputTooLarge, runGit } from '../process/run.ts';
import { isShallow, type Repository } from '../repository/repository.ts';
import { entryType } from './tree.ts';

/** The fields of a commit. */
export const LOG_FIELDS = 8;

/** `Reader.log`. */
export async function readLog(repository: Repository, query: LogQuery): Promise<FolderLog> {
  const { context, prefix } = repository;
  const read = (hasMessage: boolean): Promise<string | null> =>
    runGit(context, commands.log(query, prefix || '.', hasMessage)).catch((error: unknown) => {
      if (error instanceof OutputTooLarge && (query.limit > 1 || hasMessage)) return null;
      throw error;
    });
  // Thousands of files in each of many commits: a smaller page may fit. Of one commit, it can be the message.
  const output = (await read(true)) ?? (query.limit > 1 ? null : await read(false));
  if (output === null) return readLog(repository, { ...query, limit: Math.ceil(query.limit / 10) });
  const all = parseLog(output, prefix);
  const boundary = await shallowCommits(repository);
  // To git, a commit whose parents are cut off has made all of its files.
  const commits = all.filter(({ revision }) => !boundary.has(revision));
  const isEnd = all.length < query.limit || commits.length < all.length;
  return {
    commits: await withSideAuthors(repository, commits),
    next: isEnd ? null : (all.at(-1)?.revision ?? null),
    isCut: isEnd && boundary.size > 0 && query.until === null,
  };
}

/** The commits whose parents a shallow clone lacks. */
async function shallowCommits(repository: Repository): Promise<Set<string>> {
  if (!(await isShallow(repository))) return new Set();
  const text = await readFile(`${repository.commonFolder}/shallow`, 'utf8');
  return new Set(text.split('\n').filter(Boolean));
}

/** Parses what `commands.log` prints: for each commit `LOG_FIELDS` fields, and then two for each file. */
export function parseLog(output: string, prefix: string): FolderCommit[] {
  const fields = output.split('\0');
  const commits: FolderCommit[] = [];
  let at = 0;
  while ((fields[at] ?? '') !== '') {
    const [
      revision = '',
      parents = '',
      name = '',
      email = '',
      by = '',
      byEmail = '',
      time = '',
      message = '',
    ] = fields.slice(at, at + LOG_FIELDS);
    at += LOG_FIELDS;
    const files: FileDelta[] = [];
    for (; /^\n?:/.test(fields[at] ?? ''); at += 2) {
      files.push(...parseDelta(fields[at] ?? '', fields[at + 1] ?? '', prefix));
    }
    commits.push({
      revision,
      parents: parents.split(' ').filter(Boolean),
      author: { name, email },
      committer: { name: by, email: byEmail },
      time: Number(time),
      message,
      sideAuthors: [],
      files,
    });
  }
  return commits;
}

/** Parses `:<old mode> <new mode> <old id> <new id> <status>` and a path; nothing for a path outside of the folder. */
function parseDelta(meta: string, path: string, prefix: string): FileDelta[] {
  const [oldMode = '', mode = '', oldBlob = '', blob = ''] = meta.replace(/^\n?:/, '').split(' ');
  const start = prefix === '' ? '' : `${prefix}/`;
  if (!path.startsWith(start)) return [];
  return [
    { path: path.slice(start.length), before: versionOf(oldMode, oldBlob), after: versionOf(mode, blob) },
  ];
}

function versionOf(mode: string, blob: string): FileVersion | null {
  return /^0+$/.test(mode) ? null : { type: entryType(mode), blob };
}

/** Adds the side authors of merges; one process for all of them. */
async function withSideAuthors(
  { context }: Repository,
  commits: readonly FolderCommit[],
): Promise<FolderCommit[]> {
  const [newest, oldest] = [commits[0], commits.at(-1)];
  const hasMerge = commits.some(({ parents }) => parents.length > 1);
  if (newest === undefined || oldest === undefined || !hasMerge) return [...commits];
  const output = await runGit(context, commands.authors(newest.revision, oldest.parents[0] ?? null));
  const sides = sideAuthorsOf(parseAuthors(output), newest.revision);
  return commits.map((commit) => ({ ...commit, sideAuthors: sides.get(commit.revision) ?? [] }));
}

interface Authored {
  parents: string[];
  author: Person;
}

function parseAuthors(output: string): Map<string, Authored> {
  const fields = output.split('\0');
  const found = new Map<string, Authored>();
  for (let at = 0; (fields[at] ?? '') !== ''; at += 4) {
    const [revision = '', parents = '', name = '', email = ''] = fields.slice(at, at + 4);
    found.set(revision, { parents: parents.split(' ').filter(Boolean), author: { name, email } });
  }
  return found;
}

/** Each commit beside the first-parent line counts for the oldest merge that brought it. */
function sideAuthorsOf(commits: ReadonlyMap<string, Authored>, newest: string): Map<string, Person[]> {
  const line: string[] = [];
  for (let at: string | undefined = newest; at !== undefined && commits.has(at); ) {
    line.push(at);
    at = commits.get(at)?.parents[0];
  }
  const seen = new Set(line);
  const sides = new Map<string, Person[]>();
  for (const merge of line.reverse()) {
    const open = commits.get(merge)?.parents.slice(1) ?? [];
    const authors: Person[] = [];
    for (let at = open.pop(); at !== undefined; at = open.pop()) {
      const commit = commits.get(at);
      if (commit === undefined || seen.has(at)) continue;
      seen.add(at);
      authors.push(commit.author);
      open.push(...commit.parents);
    }
    // The walk began at the newest commit of the branch.
    if (authors.length > 0) sides.set(merge, authors.reverse());
  }
  return sides;
}
