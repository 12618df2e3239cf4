import { execFile } from 'node:child_process';
import { createServer } from 'node:net';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { onTestFinished } from 'vitest';
import { inDesiredState, temporaryFolder } from '../support/folder.ts';
import { type TestRepository, testRepository } from '../support/git.ts';
import { SMALL_FLEET } from '../support/manager.ts';
import { PROJECT, startProcess, type TestProcess } from '../support/project.ts';

/** The program that `npm run build` made. */
const MAIN = join(PROJECT, 'dist/main.js');

/**
 * Path of the Node.js that runs the built program: this one, or the one that a command in `HOLDFAST_TEST_NODE` starts,
 * such as `npx -y node@24`. It is run by its path, so that signals reach the program and not `npx`.
 */
const NODE = await nodePath(process.env['HOLDFAST_TEST_NODE']);

async function nodePath(command: string | undefined): Promise<string> {
  if (command === undefined || command === '') return process.execPath;
  const [file = '', ...args] = command.split(/\s+/);
  const { stdout } = await promisify(execFile)(file, [...args, '-p', 'process.execPath']);
  return stdout.trim();
}

/** Runs the built program, with `PATH` and the variables of `env` alone in its environment, until the test is over. */
export function runProgram(
  args: readonly string[],
  env: Readonly<Record<string, string>> = {},
  cwd = PROJECT,
): TestProcess {
  return runProgramFrom(MAIN, args, env, cwd);
}

/** Runs another copy of the built program, whose entry point is `main`, as `runProgram` does. */
export function runProgramFrom(
  main: string,
  args: readonly string[],
  env: Readonly<Record<string, string>>,
  cwd = PROJECT,
): TestProcess {
  return startProcess(NODE, [main, ...args], { cwd, env: { PATH: process.env['PATH'], ...env } });
}

/**
 * Runs the built program as `runProgram` does, with its output redirected in the syntax of the shell: `> /dev/full`.
 */
export function runProgramInto(
  redirection: string,
  args: readonly string[],
  env: Readonly<Record<string, string>> = {},
  cwd = PROJECT,
): TestProcess {
  const command = ['-c', `exec "$0" "$@" ${redirection}`, NODE, MAIN, ...args];
  return startProcess('sh', command, { cwd, env: { PATH: process.env['PATH'], ...env } });
}

/**
 * Runs the built program as `runProgram` does, but on a terminal, which `script` makes. `redirection` stands after the
 * command in the shell: `2>errors`.
 */
export function runProgramOnTerminal(
  args: readonly string[],
  env: Readonly<Record<string, string>>,
  cwd = PROJECT,
  redirection = '',
): TestProcess {
  const command = [...[NODE, MAIN, ...args].map((word) => `'${word}'`), redirection].join(' ');
  const settings = { PATH: process.env['PATH'], ...env };
  return startProcess('script', ['-qec', command, '/dev/null'], { cwd, env: settings });
}

/** A repository with a fleet, a data folder for its manager, and the settings that name both. */
export interface FleetSetup {
  repository: TestRepository;
  /** Path of a folder that does not exist yet. */
  dataFolder: string;
  /** Environment of `serve`: the repository, the data folder and a free port. */
  env: Record<string, string>;
}

/** Commits these files to a new repository. No manager is started. */
export async function setUpFleet(files: Readonly<Record<string, string>> = SMALL_FLEET): Promise<FleetSetup> {
  const repository = await testRepository();
  await repository.commit(inDesiredState(files));
  const dataFolder = join(await temporaryFolder(), 'data');
  const env = { PORT: '0', DESIRED_STATE: join(repository.folder, 'desired-state'), DATA_DIR: dataFolder };
  return { repository, dataFolder, env };
}

/** A running manager in its own process. */
export interface Program extends TestProcess {
  /** Base URL of its API, without a slash at the end. */
  address: string;
  /** The lines of its log so far, parsed. */
  log(): Record<string, unknown>[];
}

/** Starts the manager and waits until it has applied a revision. */
export async function serve(
  setup: FleetSetup,
  settings: Readonly<Record<string, string>> = {},
): Promise<Program> {
  const started = runProgram(['serve'], { ...setup.env, ...settings });
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

/**
 * Sends a signal to a program and waits until it has ended; resolves to its exit code, null if the signal killed it.
 */
export function stop(
  { child, ended }: TestProcess,
  signal: NodeJS.Signals = 'SIGTERM',
): Promise<number | null> {
  child.kill(signal);
  return ended;
}

/** A port of 127.0.0.1 that is in use until the test is over. */
export async function takenPort(): Promise<string> {
  const server = createServer().listen(0, '127.0.0.1');
  onTestFinished(() => void server.close());
  await new Promise((resolve) => server.once('listening', resolve));
  return String((server.address() as { port: number }).port);
}
