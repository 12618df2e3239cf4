import { execFile } from 'node:child_process';
import { mkdirSync, writeFileSync } from 'node:fs';
import { mkdtemp, readdir, readFile, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join, relative } from 'node:path';
import { promisify } from 'node:util';
import { temporaryFolder, type WhenDone, writeFiles } from './folder.ts';
import { createShells } from './shell.ts';

const execute = promisify(execFile);

/** The environment of users' git commands: a name and an address, and no other settings of the machine or the user. */
export const USER_ENVIRONMENT = {
  PATH: process.env['PATH'],
  HOME: '/nonexistent',
  LC_ALL: 'C',
  GIT_CONFIG_NOSYSTEM: '1',
  GIT_CONFIG_GLOBAL: '/dev/null',
  GIT_AUTHOR_NAME: 'Pat',
  GIT_AUTHOR_EMAIL: 'pat@example.com',
  GIT_COMMITTER_NAME: 'Pat',
  GIT_COMMITTER_EMAIL: 'pat@example.com',
  GIT_CONFIG_COUNT: '2',
  // Saves two processes per commit, which have nothing to do in a small repository.
  GIT_CONFIG_KEY_0: 'maintenance.auto',
  GIT_CONFIG_VALUE_0: 'false',
  // Test repositories need not survive a loss of power.
  GIT_CONFIG_KEY_1: 'core.fsync',
  GIT_CONFIG_VALUE_1: 'none',
};

/** Commits all files of the folder, by one call of the shell, since starting processes is what costs tests the most. */
const COMMIT_ALL = 'git add --all -- . && exec git commit --quiet --allow-empty -m "$1"';

/** A repository as a user has it: with a work tree, in which the user runs git. */
export interface TestRepository {
  /** The top of the work tree. */
  folder: string;
  /** Runs git in it as the user; resolves to its standard output without the last line break. Rejects if git fails. */
  git(...args: string[]): Promise<string>;
  /** Writes files (null deletes one) and commits all changes of the work tree; resolves to the commit. */
  commit(files: Readonly<Record<string, string | Uint8Array | null>>, message?: string): Promise<string>;
  /** The text of a file at a revision, `HEAD` by default. */
  show(path: string, revision?: string): Promise<string>;
}

/** A new repository without commits, on the branch `main`. It is removed when the test is over. */
export async function testRepository(whenDone?: WhenDone): Promise<TestRepository> {
  const folder = await temporaryFolder(whenDone);
  await initRepository(join(folder, '.git'), false);
  return repositoryAt(folder);
}

/**
 * Makes a git folder at `folder` without starting git, as `git init` does, on the branch `main`; `--bare` if `isBare`.
 */
export async function initRepository(folder: string, isBare: boolean): Promise<void> {
  const kind = isBare ? 'bare' : 'with a work tree';
  const files = TEMPLATES.get(kind) ?? readTemplate(isBare);
  TEMPLATES.set(kind, files);
  for (const [path, content] of await files) {
    if (content === null) mkdirSync(join(folder, path), { recursive: true });
    else writeFileSync(join(folder, path), content);
  }
}

/** The files that `git init` makes, by path, with null for a folder; read once, since most tests make a repository. */
const TEMPLATES = new Map<string, Promise<Map<string, Buffer | null>>>();

async function readTemplate(isBare: boolean): Promise<Map<string, Buffer | null>> {
  const top = await mkdtemp(join(tmpdir(), 'holdfast-test-'));
  try {
    const kind = isBare ? ['--bare'] : [];
    await execute('git', ['init', '--quiet', '--initial-branch=main', ...kind, top], {
      env: USER_ENVIRONMENT,
    });
    const folder = isBare ? top : join(top, '.git');
    const files = new Map<string, Buffer | null>([['.', null]]);
    for (const entry of await readdir(folder, { recursive: true, withFileTypes: true })) {
      const path = join(entry.parentPath, entry.name);
      if (entry.name.endsWith('.sample')) continue;
      files.set(relative(folder, path), entry.isDirectory() ? null : await readFile(path));
    }
    return files;
  } finally {
    await rm(top, { recursive: true, force: true });
  }
}

/** An existing repository as a {@link TestRepository}. */
export function repositoryAt(folder: string): TestRepository {
  const git = async (...args: string[]): Promise<string> =>
    (await run(folder, ['git', ...args])).replace(/\n$/, '');
  return {
    folder,
    git,
    show: (path, revision = 'HEAD') => run(folder, ['git', 'show', `${revision}:${path}`]),
    commit: async (files, message = 'change') => {
      for (const [path, content] of Object.entries(files)) {
        if (content === null) await rm(join(folder, path));
        else await writeFiles(folder, { [path]: content });
      }
      await run(folder, ['sh', '-c', COMMIT_ALL, 'sh', message]);
      return (await readTip(folder)) ?? (await git('rev-parse', 'HEAD'));
    },
  };
}

/** Gives the last commit another committer date, in Unix milliseconds; resolves to what it is from then on. */
export async function dateCommit({ folder, git }: TestRepository, at: number): Promise<string> {
  const env = { ...USER_ENVIRONMENT, GIT_COMMITTER_DATE: `${Math.floor(at / 1000)} +0000` };
  const amend = ['commit', '--quiet', '--amend', '--no-edit', '--allow-empty'];
  await execute('git', amend, { cwd: folder, env });
  return git('rev-parse', 'HEAD');
}

const fromShell = createShells(USER_ENVIRONMENT);

/** Runs a command by a shell; one with a line break by a process of its own, since the shells read lines. */
async function run(folder: string, command: readonly string[]): Promise<string> {
  if (![folder, ...command].some((text) => text.includes('\n'))) return fromShell(folder, command);
  const [program = '', ...args] = command;
  return (await execute(program, args, { cwd: folder, env: USER_ENVIRONMENT, maxBuffer: 2 ** 28 })).stdout;
}

/** The commit of `HEAD`, read without a process from `HEAD` and the file of its ref; null if they do not have it. */
async function readTip(folder: string): Promise<string | null> {
  const head = await readFile(join(folder, '.git/HEAD'), 'utf8').catch(() => '');
  const [, ref] = /^ref: (.*)\n$/.exec(head) ?? [];
  const text = ref === undefined ? head : await readFile(join(folder, '.git', ref), 'utf8').catch(() => '');
  return /^[0-9a-f]{40,64}\n$/.test(text) ? text.trimEnd() : null;
}
