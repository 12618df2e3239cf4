import { execFile } from 'node:child_process';
import { rm } from 'node:fs/promises';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { temporaryFolder, type WhenDone, writeFiles } from './folder.ts';

const execute = promisify(execFile);

/** The environment of a person who works on a machine where nothing is set up but a name. */
const PERSON = {
  PATH: process.env['PATH'],
  HOME: '/nonexistent',
  LC_ALL: 'C',
  GIT_CONFIG_NOSYSTEM: '1',
  GIT_CONFIG_GLOBAL: '/dev/null',
  GIT_AUTHOR_NAME: 'Pat',
  GIT_AUTHOR_EMAIL: 'pat@example.com',
  GIT_COMMITTER_NAME: 'Pat',
  GIT_COMMITTER_EMAIL: 'pat@example.com',
  // Two more processes a commit, which have nothing to do in a repository this young.
  GIT_CONFIG_COUNT: '1',
  GIT_CONFIG_KEY_0: 'maintenance.auto',
  GIT_CONFIG_VALUE_0: 'false',
};

/** Commits all that lies in the folder; prints the commit's id. Each process that a test starts itself costs the most. */
const COMMIT_ALL = 'git add --all -- . && git commit --quiet --allow-empty -m "$1" && git rev-parse HEAD';

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
  const repository = repositoryAt(await temporaryFolder(whenDone));
  await repository.git('init', '--quiet', '--initial-branch=main');
  return repository;
}

/** The same commands for a repository that is there already. */
export function repositoryAt(folder: string): TestRepository {
  const git = async (...args: string[]): Promise<string> => {
    const { stdout } = await execute('git', args, { cwd: folder, env: PERSON, maxBuffer: 2 ** 28 });
    return stdout.replace(/\n$/, '');
  };
  return {
    folder,
    git,
    show: async (path, revision = 'HEAD') => {
      const { stdout } = await execute('git', ['show', `${revision}:${path}`], { cwd: folder, env: PERSON });
      return stdout;
    },
    commit: async (files, message = 'change') => {
      for (const [path, content] of Object.entries(files)) {
        if (content === null) await rm(join(folder, path));
        else await writeFiles(folder, { [path]: content });
      }
      const { stdout } = await execute('sh', ['-c', COMMIT_ALL, 'sh', message], { cwd: folder, env: PERSON });
      return stdout.trimEnd();
    },
  };
}
