import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, onTestFinished } from 'vitest';
import { type CheckoutSource, openCheckout } from '../../../src/source/git/checkout.ts';
import { gitEnvironment } from '../../../src/source/git/process/environment.ts';
import type { GitContext } from '../../../src/source/git/process/run.ts';
import type { Machine } from '../../../src/source/git/repository/repository.ts';
import type { CommitDraft, FileEdit, Head } from '../../../src/source/source.ts';
import { temporaryFolder } from '../../support/folder.ts';
import { repositoryAt, type TestRepository, testRepository } from '../../support/git.ts';

/** A machine on which nothing is set but where git is. Its time limit is longer than any test. */
export const MACHINE: Machine = { env: { PATH: process.env['PATH'] }, timeLimit: 60_000 };

/** How the product runs git in a folder. */
export function contextAt(folder: string, timeLimit = MACHINE.timeLimit): GitContext {
  return { folder, env: gitEnvironment(MACHINE.env, ['*']), timeLimit };
}

/** A folder that lives as long as the tests of a file; called at the top of the file. */
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

/** An empty repository on `main`, made with these options, that goes when the test is over. */
export async function newRepository(...initOptions: string[]): Promise<TestRepository> {
  if (initOptions.length === 0) return testRepository();
  const repository = repositoryAt(await temporaryFolder());
  await repository.git('init', '--quiet', '--initial-branch=main', ...initOptions);
  return repository;
}

/** Opens the folder as the manager does; closed when the test is over. */
export async function openSource(folder: string, branch: string | null = null): Promise<CheckoutSource> {
  const source = await openCheckout(folder, branch, MACHINE);
  onTestFinished(async () => {
    await Promise.all([source.reader.close(), source.publisher.close()]);
  });
  return source;
}

/** A commit of these edits, as the write road makes one. */
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

/** Publishes one commit on the head as it is now. */
export async function publishOne(
  source: CheckoutSource,
  edits: Readonly<Record<string, string | null>>,
  base?: Head,
): Promise<string> {
  const [id] = await source.publisher.publish(base ?? (await source.reader.head()), [draftOf(edits)]);
  return id as string;
}

/** A `git` on the PATH that notes the id of its process, so that a test can get at a process of the product. */
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
