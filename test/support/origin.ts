import { appendFile, cp, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { onTestFinished } from 'vitest';
import { NO_FAULTS } from '../../src/faults.ts';
import type { RemoteOptions } from '../../src/source/git/mirror/remote.ts';
import { NO_CREDENTIALS } from '../../src/source/git/origin/access.ts';
import { inDesiredState, temporaryFolder, type WhenDone } from './folder.ts';
import { initRepository, repositoryAt, type TestRepository, testRepository } from './git.ts';
import { type ManagerOptions, startManager, type TestManager } from './manager.ts';

/** A bare repository, and the clone of a user who pushes to it. */
export interface TestOrigin {
  /** Path of the bare repository. */
  url: string;
  /** The bare repository; it has no work tree to commit in. */
  bare: TestRepository;
  /** The user's clone. */
  user: TestRepository;
  /**
   * Moves the user's clone to the branch `main` of the origin, commits files there (null deletes one) and pushes them.
   * Resolves to the commit.
   */
  push(files: Readonly<Record<string, string | null>>, message?: string): Promise<string>;
  /** A clone of another user. */
  clone(): Promise<TestRepository>;
}

/**
 * Moves the clone to the branch `main` of the origin, if there is one; one command, since starting processes is slow.
 */
const CATCH_UP =
  'test -z "$(git ls-remote origin refs/heads/main)" || { git fetch --quiet origin main && git reset --quiet --hard FETCH_HEAD; }';

/** A new origin with a first commit of these files, if any, with paths below `desired-state/`. */
export async function testOrigin(
  files: Readonly<Record<string, string>> = {},
  whenDone: WhenDone = onTestFinished,
): Promise<TestOrigin> {
  const url = join(await temporaryFolder(whenDone), 'fleet.git');
  const user = await testRepository(whenDone);
  await initRepository(url, true);
  // Saves a process after each push that checks whether a clean-up is due.
  await appendFile(join(url, 'config'), '[receive]\n\tautogc = false\n');
  await appendFile(
    join(user.folder, '.git/config'),
    `[remote "origin"]\n\turl = ${url}\n\tfetch = +refs/heads/*:refs/remotes/origin/*\n`,
  );
  const push: TestOrigin['push'] = async (changes, message) => {
    await user.git('-c', `alias.catch-up=!${CATCH_UP}`, 'catch-up');
    const id = await user.commit(changes, message);
    await user.git('push', '--quiet', 'origin', 'HEAD:refs/heads/main');
    return id;
  };
  const clone = async (): Promise<TestRepository> => {
    const folder = await temporaryFolder(whenDone);
    await user.git('clone', '--quiet', url, folder);
    return repositoryAt(folder);
  };
  if (Object.keys(files).length > 0) await pushFirst(user, url, files);
  return { url, bare: repositoryAt(url), user, push, clone };
}

/** Does what a first push to an empty repository does, without its five processes. */
async function pushFirst(
  user: TestRepository,
  url: string,
  files: Readonly<Record<string, string>>,
): Promise<void> {
  const id = await user.commit(inDesiredState(files), 'the first fleet');
  await cp(join(user.folder, '.git/objects'), join(url, 'objects'), { recursive: true });
  await writeFile(join(url, 'refs/heads/main'), `${id}\n`);
}

/** Milliseconds. */
const LIMIT = { total: 20_000, silence: 20_000 };

/** Options for `openRemote` that follow `desired-state` on the branch `main` of an origin without credentials. */
export function remoteOptions(url: string, dataFolder: string, path = process.env['PATH']): RemoteOptions {
  return {
    dataFolder,
    branch: 'main',
    prefix: 'desired-state',
    access: { ...NO_CREDENTIALS, url },
    machine: { env: { PATH: path }, timeLimit: 30_000 },
    limits: { first: LIMIT, patient: LIMIT, usual: LIMIT },
    onTransfer: () => undefined,
    faults: NO_FAULTS,
  };
}

/**
 * Starts a manager that follows an origin by `GIT_REMOTE`. Its `repository` is the user's clone, and it does not poll.
 */
export function startFollower(
  origin: Pick<TestOrigin, 'url' | 'user'>,
  options: Omit<ManagerOptions, 'repository' | 'files'> = {},
): Promise<TestManager> {
  const settings = { GIT_REMOTE: origin.url, DESIRED_STATE: 'desired-state', ...options.settings };
  return startManager({ ...options, repository: origin.user, settings });
}
