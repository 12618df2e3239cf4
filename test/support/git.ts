import { execFile } from 'node:child_process';
import { mkdirSync, writeFileSync } from 'node:fs';
import { mkdtemp, readdir, readFile, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join, relative } from 'node:path';
import { promisify } from 'node:util';
import { temporaryFolder, type WhenDone, writeFiles } from './folder.ts';
import { createShells } from './shell.ts';

const execute = promisify(execFile);

/** The environment of a person who works on a machine where nothing is set up but a name. */
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
  // Two more processes a commit, which have nothing to do in a repository this young.
  GIT_CONFIG_KEY_0: 'maintenance.auto',
  GIT_CONFIG_VALUE_0: 'false',
  // What a person commits here goes with the test.
  GIT_CONFIG_KEY_1: 'core.fsync',
  GIT_CONFIG_VALUE_1: 'none',
};

/** Commits all that lies in the folder. Each process that a test starts itself costs the most. */
const COMMIT_ALL = 'git add --all -- . && exec git commit --quiet --allow-empty -m "$1"';

/** A repository as people use it: with a checkout, and commands of their own. */
export interface TestRepository {
  /** The top of the work tree. */
  folder: string;
  /** Runs git as a person would; resolves to its output without the last line break. */
  git(...args: string[]): Promise<string>;
  /** Writes files (null deletes one) and commits everything; resolves to the commit's id. */
  commit(files: Readonly<Record<string, string | Uint8Array | null>>, message?: string): Promise<string>;
  /** The text of a file at a revision. */
  show(path: string, revision?: string): Promise<string>;
}

/** An empty repository on the branch `main`, in a folder that goes when the test is over. */
export async function testRepository(whenDone?: WhenDone): Promise<TestRepository> {
  const folder = await temporaryFolder(whenDone);
  await initRepository(join(folder, '.git'), false);
  return repositoryAt(folder);
}

/** Makes at `folder` what `git init` would, `--bare` or not, on the branch `main`. */
export async function initRepository(folder: string, isBare: boolean): Promise<void> {
  const kind = isBare ? 'bare' : 'with a work tree';
  const known = EMPTY.get(kind) ?? readEmpty(isBare);
  EMPTY.set(kind, known);
  for (const [path, content] of await known) {
    if (content === null) mkdirSync(join(folder, path), { recursive: true });
    else writeFileSync(join(folder, path), content);
  }
}

/** What `git init` makes, by path, with null for a folder; read once, since most tests begin with a repository. */
const EMPTY = new Map<string, Promise<Map<string, Buffer | null>>>();

async function readEmpty(isBare: boolean): Promise<Map<string, Buffer | null>> {
  const top = await mkdtemp(join(tmpdir(), 'holdfast-test-'));
  try {
    const kind = isBare ? ['--bare'] : [];
    await execute('git', ['init', '--quiet', '--initial-branch=main', ...kind, top], {
      env: USER_ENVIRONMENT,
    });
    const folder = isBare ? top : join(top, '.git');
    const empty = new Map<string, Buffer | null>([['.', null]]);
    for (const entry of await readdir(folder, { recursive: true, withFileTypes: true })) {
      const path = join(entry.parentPath, entry.name);
      if (entry.name.endsWith('.sample')) continue;
      empty.set(relative(folder, path), entry.isDirectory() ? null : await readFile(path));
    }
    return empty;
  } finally {
    await rm(top, { recursive: true, force: true });
  }
}

/** The same commands for a repository that is there already. */
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

const fromShell = createShells(USER_ENVIRONMENT);

/** Only a new process can be given a line break. */
async function run(folder: string, command: readonly string[]): Promise<string> {
  if (![folder, ...command].some((text) => text.includes('\n'))) return fromShell(folder, command);
  const [program = '', ...args] = command;
  return (await execute(program, args, { cwd: folder, env: USER_ENVIRONMENT, maxBuffer: 2 ** 28 })).stdout;
}

/** The commit that HEAD is at, without another process; null where it is not told by one file and the one that it names. */
async function readTip(folder: string): Promise<string | null> {
  const head = await readFile(join(folder, '.git/HEAD'), 'utf8').catch(() => '');
  const [, ref] = /^ref: (.*)\n$/.exec(head) ?? [];
  const text = ref === undefined ? head : await readFile(join(folder, '.git', ref), 'utf8').catch(() => '');
  return /^[0-9a-f]{40,64}\n$/.test(text) ? text.trimEnd() : null;
}
