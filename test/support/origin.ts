import { appendFile, cp, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { onTestFinished } from 'vitest';
import { NO_FAULTS } from '../../src/faults.ts';
import type { RemoteOptions } from '../../src/source/git/origin/remote.ts';
import { inDesiredState, temporaryFolder, type WhenDone } from './folder.ts';
import { initRepository, repositoryAt, type TestRepository, testRepository } from './git.ts';
import { type ManagerOptions, startManager, type TestManager } from './manager.ts';

/** A bare repository that people push to, and one person's clone of it. */
export interface TestOrigin {
  /** Path of the bare repository. */
  url: string;
  bare: TestRepository;
  person: TestRepository;
  /** Commits in the person's clone and pushes; brings what others pushed first. Resolves to the commit. */
  push(files: Readonly<Record<string, string | null>>, message?: string): Promise<string>;
  /** Another person's clone. */
  clone(): Promise<TestRepository>;
}

/** Goes to where others brought the branch, if it is there; one command, since each process that a test starts itself costs. */
const CATCH_UP =
  'test -z "$(git ls-remote origin refs/heads/main)" || { git fetch --quiet origin main && git reset --quiet --hard FETCH_HEAD; }';

export async function testOrigin(
  files: Readonly<Record<string, string>> = {},
  whenDone: WhenDone = onTestFinished,
): Promise<TestOrigin> {
  const url = join(await temporaryFolder(whenDone), 'fleet.git');
  const person = await testRepository(whenDone);
  await initRepository(url, true);
  // A look after each push whether there is much to clean up, by a process of its own.
  await appendFile(join(url, 'config'), '[receive]\n\tautogc = false\n');
  await appendFile(
    join(person.folder, '.git/config'),
    `[remote "origin"]\n\turl = ${url}\n\tfetch = +refs/heads/*:refs/remotes/origin/*\n`,
  );
  const push: TestOrigin['push'] = async (changes, message) => {
    await person.git('-c', `alias.catch-up=!${CATCH_UP}`, 'catch-up');
    const id = await person.commit(changes, message);
    await person.git('push', '--quiet', 'origin', 'HEAD:refs/heads/main');
    return id;
  };
  const clone = async (): Promise<TestRepository> => {
    const folder = await temporaryFolder(whenDone);
    await person.git('clone', '--quiet', url, folder);
    return repositoryAt(folder);
  };
  if (Object.keys(files).length > 0) await pushFirst(person, url, files);
  return { url, bare: repositoryAt(url), person, push, clone };
}

/** Leaves what a push to an empty repository would, which takes five processes. */
async function pushFirst(
  person: TestRepository,
  url: string,
  files: Readonly<Record<string, string>>,
): Promise<void> {
  const id = await person.commit(inDesiredState(files), 'the first fleet');
  await cp(join(person.folder, '.git/objects'), join(url, 'objects'), { recursive: true });
  await writeFile(join(url, 'refs/heads/main'), `${id}\n`);
}

const LIMIT = { total: 20_000, silence: 20_000 };

/** How the branch `main` of an origin is followed without a manager. */
export function remoteOptions(url: string, dataFolder: string, path = process.env['PATH']): RemoteOptions {
  return {
    dataFolder,
    branch: 'main',
    prefix: 'desired-state',
    access: {
      url,
      username: null,
      token: null,
      tokenFile: null,
      sshKey: null,
      knownHosts: null,
      caFile: null,
    },
    machine: { env: { PATH: path }, timeLimit: 30_000 },
    limits: { first: LIMIT, patient: LIMIT, usual: LIMIT },
    onTransfer: () => undefined,
    faults: NO_FAULTS,
  };
}

/** A manager that follows an origin; polls only when a test asks for it. */
export function startFollower(
  origin: Pick<TestOrigin, 'url' | 'person'>,
  options: Omit<ManagerOptions, 'repository' | 'files'> = {},
): Promise<TestManager> {
  const settings = { GIT_REMOTE: origin.url, DESIRED_STATE: 'desired-state', ...options.settings };
  return startManager({ ...options, repository: origin.person, settings });
}
