import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { join } from 'node:path';
import type { Bench } from './bench.ts';
import { runToEnd } from './process.ts';

/** The environment of a user's git: without the configuration of the machine. */
const USER_ENV = {
  HOME: '/nonexistent',
  LC_ALL: 'C',
  GIT_CONFIG_NOSYSTEM: '1',
  GIT_CONFIG_GLOBAL: '/dev/null',
  GIT_AUTHOR_NAME: 'Pat',
  GIT_AUTHOR_EMAIL: 'pat@example.com',
  GIT_COMMITTER_NAME: 'Pat',
  GIT_COMMITTER_EMAIL: 'pat@example.com',
};

/** How git syncs its writes: the same for the manager and for the baselines. */
export const DURABLE = [
  '-c',
  'core.fsync=committed,reference,index',
  '-c',
  'core.fsyncMethod=fsync',
  '-c',
  'gc.auto=0',
] as const;

/** A repository with a fleet in it. */
export interface Fleet {
  folder: string;
  apps: number;
  groups: number;
  /** Runs git as a user does. Resolves to its output. */
  git(...args: string[]): Promise<string>;
}

/** Apps are in folders of a hundred, as in large repositories. */
export function appPath(index: number): string {
  const folder = String(Math.floor(index / 100)).padStart(4, '0');
  return `desired-state/apps/team-${folder}/${appName(index)}.yaml`;
}

export function appName(index: number): string {
  return `app-${String(index).padStart(6, '0')}`;
}

export function groupName(index: number): string {
  return `group-${String(index).padStart(5, '0')}`;
}

export function appText(index: number, version = 1): string {
  return `# Service ${index}: what it is, and whom to ask.
container_image: registry.example.com/team-${Math.floor(index / 100)}/service-${index}:1.${version}.0
starting_ports:
  - ${8000 + (index % 1000)}
  - "80": "8080"
containers_per:
  server: 2
env_vars:
  LOG_LEVEL: info
  CATALOG_URL: http://catalog-${index}.internal.example.com:7000/v1
  CACHE_SECONDS: "300"
  REGION: eu-central
running: true
volumes:
  - /var/lib/service-${index}:/data
  - /etc/ssl/certs:/etc/ssl/certs:ro
networks: [nebula, bridge, shop]
rolling_restart: true # one container after another
`;
}

/** A repository with one commit of so many apps, divided in order among the groups, and its checkout. */
export async function makeFleet(bench: Bench, apps: number, groups: number): Promise<Fleet> {
  const folder = join(await bench.folder(), 'fleet');
  const git = (...args: string[]): Promise<string> =>
    runToEnd(bench, 'git', ['-C', folder, ...args], USER_ENV);
  await runToEnd(bench, 'git', ['init', '--quiet', '--initial-branch=main', folder], USER_ENV);
  await importFiles(folder, filesOf(apps, groups));
  await git('reset', '--quiet', '--hard');
  return { folder, apps, groups, git };
}

/** A bare clone of the fleet's repository, for a manager that uses it as origin. */
export async function makeBare(bench: Bench, fleet: Fleet): Promise<string> {
  const bare = join(await bench.folder(), 'origin.git');
  await runToEnd(bench, 'git', ['clone', '--quiet', '--bare', fleet.folder, bare], USER_ENV);
  return bare;
}

function* filesOf(apps: number, groups: number): Generator<[path: string, text: string]> {
  for (let index = 0; index < apps; index++) yield [appPath(index), appText(index)];
  const size = Math.floor(apps / groups);
  for (let group = 0; group < groups; group++) {
    const names = Array.from({ length: size }, (_, index) => `  - ${appName(group * size + index)}\n`);
    yield [`desired-state/device-groups/${groupName(group)}.yaml`, `apps:\n${names.join('')}`];
  }
}

/** A commit to import. */
export interface NewCommit {
  author: string;
  /** Unix seconds. */
  time: number;
  message: string;
  files: Iterable<[path: string, text: string]>;
  /** The author of a commit with the same files, which this one merges. */
  merges?: string;
}

/** Adds a commit to the branch without a work tree, which is quick even with many files. */
export function importFiles(folder: string, files: Iterable<[path: string, text: string]>): Promise<void> {
  const time = Math.floor(Date.now() / 1000);
  return importCommits(folder, [{ author: 'Pat', time, message: 'fleet', files }]);
}

/** Adds commits to the branch without a work tree. */
export async function importCommits(folder: string, commits: Iterable<NewCommit>): Promise<void> {
  const child = spawn('git', ['-C', folder, 'fast-import', '--quiet'], {
    env: { PATH: process.env['PATH'], ...USER_ENV },
    stdio: ['pipe', 'ignore', 'inherit'],
  });
  const { stdin } = child;
  const write = async (text: string): Promise<void> => {
    if (!stdin.write(text)) await once(stdin, 'drain');
  };
  const closed = once(child, 'close');
  if (await hasHead(folder)) await write('reset refs/heads/main\nfrom refs/heads/main^0\n\n');
  for (const commit of commits) for (const command of commandsOf(commit)) await write(command);
  stdin.end('\n');
  const [code] = await closed;
  if (code !== 0) throw new Error(`git fast-import ended with ${code}`);
}

/** The commands of fast-import that make a commit, and before it the one that it merges. */
function* commandsOf({ author, time, message, files, merges }: NewCommit): Generator<string> {
  if (merges === undefined) {
    yield header('main', author, time, message);
    for (const file of files) yield fileCommand(file);
    return;
  }
  const changes = Array.from(files, fileCommand);
  yield 'reset refs/heads/side\nfrom refs/heads/main\n\n';
  yield* [header('side', merges, time, `${message}, a part of it`), ...changes];
  yield* [header('main', author, time, message), 'merge refs/heads/side\n', ...changes];
}

function header(branch: string, author: string, time: number, message: string): string {
  const person = `${author} <${author.toLowerCase()}@example.com> ${time} +0000`;
  return `commit refs/heads/${branch}\nauthor ${person}\ncommitter ${person}\n${data(message)}`;
}

function fileCommand([path, text]: [path: string, text: string]): string {
  return `M 100644 inline ${path}\n${data(text)}`;
}

function data(text: string): string {
  return `data ${Buffer.byteLength(text)}\n${text}\n`;
}

async function hasHead(folder: string): Promise<boolean> {
  const child = spawn('git', ['-C', folder, 'rev-parse', '--quiet', '--verify', 'refs/heads/main'], {
    stdio: 'ignore',
  });
  const [code] = await once(child, 'close');
  return code === 0;
}
