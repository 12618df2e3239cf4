import { execFile } from 'node:child_process';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { inDesiredState, temporaryFolder } from '../support/folder.ts';
import { type TestRepository, testRepository } from '../support/git.ts';
import { SMALL_FLEET } from '../support/manager.ts';
import { PROJECT, startProcess, type TestProcess } from '../support/project.ts';

/** What `npm run build` made. */
const MAIN = join(PROJECT, 'dist/main.js');

/**
 * The Node that runs the built program: this one, or the one that a command in `HOLDFAST_TEST_NODE` starts, such as
 * `npx -y node@24`. Its own path is asked for, so that signals reach the program and not its starter.
 */
const NODE = await nodePath(process.env['HOLDFAST_TEST_NODE']);

async function nodePath(command: string | undefined): Promise<string> {
  if (command === undefined || command === '') return process.execPath;
  const [file = '', ...args] = command.split(/\s+/);
  const { stdout } = await promisify(execFile)(file, [...args, '-p', 'process.execPath']);
  return stdout.trim();
}

/** Runs the built program with nothing in its environment but `PATH` and what is given. */
export function runProgram(
  args: readonly string[],
  env: Readonly<Record<string, string>> = {},
  cwd = PROJECT,
): TestProcess {
  return runProgramFrom(MAIN, args, env, cwd);
}

/** The same of a program that lies elsewhere. */
export function runProgramFrom(
  main: string,
  args: readonly string[],
  env: Readonly<Record<string, string>>,
  cwd = PROJECT,
): TestProcess {
  return startProcess(NODE, [main, ...args], { cwd, env: { PATH: process.env['PATH'], ...env } });
}

/** The same with its standard output or standard error led elsewhere, as a shell writes it: `> /dev/full`. */
export function runProgramInto(
  redirection: string,
  args: readonly string[],
  env: Readonly<Record<string, string>> = {},
  cwd = PROJECT,
): TestProcess {
  const command = ['-c', `exec "$0" "$@" ${redirection}`, NODE, MAIN, ...args];
  return startProcess('sh', command, { cwd, env: { PATH: process.env['PATH'], ...env } });
}

/** The same on a terminal that `script` makes; `more` is what a shell has after the command: `2>errors`. */
export function runProgramOnTerminal(
  args: readonly string[],
  env: Readonly<Record<string, string>>,
  cwd = PROJECT,
  more = '',
): TestProcess {
  const command = [...[NODE, MAIN, ...args].map((word) => `'${word}'`), more].join(' ');
  const settings = { PATH: process.env['PATH'], ...env };
  return startProcess('script', ['-qec', command, '/dev/null'], { cwd, env: settings });
}

/** A fleet on this machine, as a manager is pointed to it. */
export interface Place {
  repository: TestRepository;
  dataFolder: string;
  /** The settings that lead there. */
  env: Record<string, string>;
}

export async function makePlace(files: Readonly<Record<string, string>> = SMALL_FLEET): Promise<Place> {
  const repository = await testRepository();
  await repository.commit(inDesiredState(files));
  const dataFolder = join(await temporaryFolder(), 'data');
  const env = { PORT: '0', DESIRED_STATE: join(repository.folder, 'desired-state'), DATA_DIR: dataFolder };
  return { repository, dataFolder, env };
}

/** A manager in a process of its own. */
export interface Program extends TestProcess {
  address: string;
  /** Its log, line by line. */
  log(): Record<string, unknown>[];
}

/** Starts the manager and waits until it has applied a revision. */
export async function serve(place: Place, settings: Readonly<Record<string, string>> = {}): Promise<Program> {
  const started = runProgram(['serve'], { ...place.env, ...settings });
  const [, address = ''] = await started.waitFor(/"address":"([^"]+)"/);
  while ((await fetch(`${address}/readyz`)).status !== 200) await started.waitFor(/"msg":"applied"/);
  const log = (): Record<string, unknown>[] =>
    started
      .stdout()
      .split('\n')
      .slice(0, -1)
      .map((line) => JSON.parse(line));
  return { ...started, address, log };
}

/** Ends a program as `kill` does; resolves to its exit code. */
export function stop(
  { child, ended }: TestProcess,
  signal: NodeJS.Signals = 'SIGTERM',
): Promise<number | null> {
  child.kill(signal);
  return ended;
}
