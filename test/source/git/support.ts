import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, onTestFinished } from 'vitest';
import type { FaultPoint, Faults } from '../../../src/faults.ts';
import { type CloneOptions, type CloneSource, openClone } from '../../../src/source/git/clone/clone.ts';
import { gitEnvironment } from '../../../src/source/git/process/environment.ts';
import type { GitContext } from '../../../src/source/git/process/run.ts';
import type { Machine, Repository } from '../../../src/source/git/repository/repository.ts';
import type { CommitDraft, FileEdit, Head } from '../../../src/source/source.ts';
import { temporaryFolder, writeFiles } from '../../support/folder.ts';
import { repositoryAt, type TestRepository, testRepository } from '../../support/git.ts';

/** A machine with only the PATH in its environment. Its time limit is longer than any test. */
export const MACHINE: Machine = { env: { PATH: process.env['PATH'] }, timeLimit: 60_000 };

/** The context in which the product runs git in a folder. */
export function contextAt(folder: string, timeLimit = MACHINE.timeLimit): GitContext {
  return { folder, env: gitEnvironment(MACHINE.env, ['*']), timeLimit };
}

/** The repository of a work tree, as the parts of the product take it. */
export function repositoryOf(folder: string, prefix = ''): Repository {
  const gitFolder = join(folder, '.git');
  return { context: contextAt(folder), gitFolder, commonFolder: gitFolder, prefix };
}

/** A folder that exists until all tests of a file are over; to be called at the top level of the file. */
export async function folderOfFile(): Promise<string> {
  const folder = await mkdtemp(join(tmpdir(), 'holdfast-test-'));
  afterAll(() => rm(folder, { recursive: true, force: true, maxRetries: 5, retryDelay: 50 }));
  return folder;
}

/** An empty repository on `main` that all tests of a file share. */
export async function repositoryOfFile(...initOptions: string[]): Promise<TestRepository> {
  const repository = repositoryAt(await folderOfFile());
  await repository.git('init', '--quiet', '--initial-branch=main', ...initOptions);
  return repository;
}

/** An empty repository on `main`, made with these options; removed when the test is over. */
export async function newRepository(...initOptions: string[]): Promise<TestRepository> {
  if (initOptions.length === 0) return testRepository();
  const repository = repositoryAt(await temporaryFolder());
  await repository.git('init', '--quiet', '--initial-branch=main', ...initOptions);
  return repository;
}

/** Opens the folder as the manager does; closed when the test is over. */
export async function openSource(
  folder: string,
  branch: string | null = null,
  options: Partial<CloneOptions> = {},
): Promise<CloneSource> {
  const dataFolder = options.dataFolder ?? (await temporaryFolder());
  const source = await openClone({ folder, branch, machine: MACHINE, ...options, dataFolder });
  onTestFinished(source.close);
  return source;
}

/** Calls `act` each time a write passes the point. */
export function faultsAt(point: FaultPoint, act: () => void): Faults {
  return {
    pass: (passed) => {
      if (passed === point) act();
    },
  };
}

/**
 * A machine whose `git` first runs these lines of shell, with its arguments and in its folder, and then, unless they exit,
 * the real git. Goes with the test.
 */
export async function machineWith(lines: string, timeLimit = MACHINE.timeLimit): Promise<Machine> {
  const folder = await temporaryFolder();
  const path = MACHINE.env['PATH'];
  const script = `#!/bin/sh\nPATH='${path}'\n${lines}\nexec git "$@"\n`;
  await writeFile(join(folder, 'git'), script, { mode: 0o755 });
  return { env: { PATH: `${folder}:${path}` }, timeLimit };
}

/** What `git status` shows, with all untracked files; an empty text if nothing is changed. */
export function status({ git }: TestRepository): Promise<string> {
  return git('status', '--porcelain', '--untracked-files=all');
}

/** Writes a file of the work tree. */
export function write({ folder }: TestRepository, path: string, text: string): Promise<void> {
  return writeFiles(folder, { [path]: text });
}

/** Reads a file of the work tree; null if there is none. */
export function read({ folder }: TestRepository, path: string): Promise<string | null> {
  return readFile(join(folder, path), 'utf8').catch(() => null);
}

/** A draft of a commit with these edits, as an API write makes one. */
export function draftOf(
  edits: Readonly<Record<string, string | null>>,
  more: Partial<CommitDraft> = {},
): CommitDraft {
  return {
    edits: Object.entries(edits).map(([path, text]): FileEdit => ({ path, text })),
    message: 'app web: change\n\nRequest-Id: 1\n',
    author: { name: 'Olga', email: 'olga@example.com' },
    at: 1_700_000_000_000,
    ...more,
  };
}

/** Publishes one commit on `base`, or on the present head. Resolves to its id. */
export async function publishOne(
  source: CloneSource,
  edits: Readonly<Record<string, string | null>>,
  base?: Head,
): Promise<string> {
  const [id] = await source.publisher.publish(base ?? (await source.reader.head()), [draftOf(edits)]);
  return id as string;
}

/** A `git` on the PATH that notes its process id, so that a test can kill a process that the product started. */
export interface NotingGit {
  /** The context with this `git` in it. */
  use(context: GitContext): GitContext;
  /** The process that was started last; null before the first. */
  last(): Promise<number | null>;
}

export async function notingGit(): Promise<NotingGit> {
  const folder = await mkdtemp(join(tmpdir(), 'holdfast-test-'));
  afterAll(() => rm(folder, { recursive: true, force: true }));
  const noted = join(folder, 'pid');
  const script = `#!/bin/sh\necho $$ > "${noted}"\nPATH="${process.env['PATH']}" exec git "$@"\n`;
  await writeFile(join(folder, 'git'), script, { mode: 0o755 });
  return {
    use: (context) => ({ ...context, env: { ...context.env, PATH: `${folder}:/usr/bin:/bin` } }),
    last: async () => Number(await readFile(noted, 'utf8').catch(() => '')) || null,
  };
}
