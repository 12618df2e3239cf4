import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { commands } from './process/commands.ts';
import { type GitContext, runGit } from './process/run.ts';

/** git as the user has it: with their configuration, identity and hooks. Paths are relative to the top of the work tree. */
export interface UserGit {
  /** The top of the work tree. */
  readonly top: string;
  /** Path of the folder inside the repository; empty if it is the top. */
  readonly prefix: string;
  /** Resolves to the paths below the folder that are not as in `HEAD`: modified, staged, in conflict or untracked. */
  changedPaths(): Promise<Set<string>>;
  /**
   * Commits the files at these paths as they are on disk, and nothing else that is staged; resolves to the commit. Rejects
   * with a GitFailure if git or a hook refuses; index and history are then as before, except for new files, which stay added.
   * A git that dies after it has committed, as in a hook, has not refused. Resolves to `HEAD` if it no longer says which
   * commit that is.
   */
  commit(paths: readonly string[], message: string): Promise<string>;
  /** Makes the entries of the index at these paths those of `HEAD`. */
  unstage(paths: readonly string[]): Promise<void>;
}

/** Time limit of a git command, in milliseconds: hooks of users can run tests. */
const TIME_LIMIT = 600_000;

/** Opens the repository that a folder is in, with the user's environment. Rejects with a GitFailure if there is none. */
export async function openUserGit(
  folder: string,
  env: Readonly<Record<string, string | undefined>>,
): Promise<UserGit> {
  const defined = Object.entries(env).filter((entry): entry is [string, string] => entry[1] !== undefined);
  const machine = { ...Object.fromEntries(defined), GIT_LITERAL_PATHSPECS: '1' };
  const at: GitContext = { folder, env: machine, timeLimit: TIME_LIMIT };
  const [top = '', prefix = ''] = (await runGit(at, commands.topAndPrefix())).split('\n');
  const context = { ...at, folder: top };
  const paths = (list: readonly string[]): string => list.map((path) => `${path}\0`).join('');
  return {
    top,
    prefix: prefix.replace(/\/$/, ''),
    changedPaths: async () => pathsOf(await runGit(context, commands.userStatus(prefix || '.'))),
    commit: async (list, message) => {
      const head = (): Promise<string | null> =>
        runGit(context, commands.userHead()).then(
          (text) => text.trim(),
          () => null,
        );
      const before = await head();
      await runGit(context, commands.userAdd(), paths(list));
      try {
        await withFile(message, (file) => runGit(context, commands.userCommit(file), paths(list)));
      } catch (error) {
        const after = await head();
        if (after === null || after === before) throw error;
      }
      return (await head()) ?? 'HEAD';
    },
    unstage: async (list) => {
      await runGit(context, commands.userReset(), paths(list));
    },
  };
}

/** Runs work with a temporary file that has this text. */
async function withFile(text: string, work: (path: string) => Promise<unknown>): Promise<void> {
  const folder = await mkdtemp(join(tmpdir(), 'holdfast-'));
  try {
    await writeFile(join(folder, 'message'), text);
    await work(join(folder, 'message'));
  } finally {
    await rm(folder, { recursive: true, force: true });
  }
}

/** Parses `git status --porcelain -z`, which has two letters and a path in each record. */
function pathsOf(output: string): Set<string> {
  return new Set(output.split('\0').flatMap((record) => (record === '' ? [] : [record.slice(3)])));
}
