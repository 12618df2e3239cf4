import { join, resolve } from 'node:path';
import { HoldfastError, messageOf } from '../errors.ts';
import { EXIT, type ExitCode, UsageError } from '../process/exit.ts';
import { readSettings, withoutValue } from '../settings/read.ts';
import { closestName } from '../suggest.ts';
import { USUAL_WIDTH } from '../text/wrap.ts';
import { divideArguments } from './command/arguments.ts';
import { workerHelp } from './command/help.ts';
import { type Answer, askSocket } from './data-dir/local-request.ts';
import { SOCKET } from './data-dir/local-socket.ts';
import { LOCAL_SETTINGS, parseWorkerConfig, WORKER_SETTINGS, type WorkerConfig } from './settings.ts';
import { renderStatus } from './status/render.ts';
import { isHealthy, type WorkerStatus } from './status/status.ts';

/** How the worker runs: until it is stopped, until nothing is left to do, or without doing anything. */
export type RunMode = 'forever' | 'once' | 'dry-run';

/** What the commands need from their process. */
export interface WorkerIo {
  env: Readonly<Record<string, string | undefined>>;
  /** Reads the file of a secret; throws an error that says why it cannot. */
  readFile(path: string): string;
  write(text: string): void;
  writeError(text: string): void;
  /** How many characters a line of the terminal has; null if standard output is none. */
  columns: number | null;
  /** Unix milliseconds. */
  now(): number;
  version: string;
  run(config: WorkerConfig, mode: RunMode): Promise<ExitCode>;
}

/** Runs `holdfast worker` with these arguments and resolves to its exit code. Never rejects. */
export async function runWorkerCommand(args: readonly string[], io: WorkerIo): Promise<ExitCode> {
  try {
    return await dispatch(args, io);
  } catch (error) {
    io.writeError(`holdfast: ${messageOf(error)}\n`);
    if (error instanceof UsageError) {
      io.writeError('Try "holdfast worker --help".\n');
      return EXIT.usage;
    }
    if (error instanceof RefusedError) return EXIT.problems;
    const isUsage = error instanceof HoldfastError && ['invalid', 'present'].includes(error.kind);
    return isUsage ? EXIT.usage : EXIT.failed;
  }
}

const LOCAL_COMMANDS: Readonly<Record<string, (args: readonly string[], io: WorkerIo) => Promise<ExitCode>>> =
  { status, retry, 'forget-ids': forgetIds };
const HELP = ['--help', '-h', 'help'];
const VERSION = ['--version', '-v'];

async function dispatch(args: readonly string[], io: WorkerIo): Promise<ExitCode> {
  const [first = ''] = args;
  // Only in first place, or alone after a command: elsewhere it can be the value of a flag.
  const asked = [first, ...(Object.hasOwn(LOCAL_COMMANDS, first) ? args.slice(1) : [])];
  if (asked.some((argument) => HELP.includes(argument)))
    return print(io, workerHelp(io.columns ?? USUAL_WIDTH));
  if (VERSION.includes(first)) return print(io, `${io.version}\n`);
  const command = Object.hasOwn(LOCAL_COMMANDS, first) ? LOCAL_COMMANDS[first] : undefined;
  if (command !== undefined) return command(args.slice(1), io);
  if (first !== '' && !first.startsWith('-')) throw unknownCommand(first);
  return run(args, io);
}

function unknownCommand(given: string): UsageError {
  const names = Object.keys(LOCAL_COMMANDS);
  const closest = closestName(given, names, 1);
  const hint = closest === null ? '' : `; did you mean ${closest}?`;
  return new UsageError(
    `"${withoutValue(given)}" is not a command of worker, which has ${names.join(', ')}${hint}`,
  );
}

function print(io: WorkerIo, text: string): ExitCode {
  io.write(text);
  return EXIT.ok;
}

async function run(args: readonly string[], io: WorkerIo): Promise<ExitCode> {
  const { switches, rest } = divideArguments(args, ['once', 'dry-run'], WORKER_SETTINGS);
  if (switches.size > 1) throw new UsageError('--once and --dry-run exclude each other');
  const config = parseWorkerConfig(io.env, rest, io.readFile);
  if (!config.ok) throw invalidSettings(config.problems);
  const mode = switches.has('dry-run') ? 'dry-run' : switches.has('once') ? 'once' : 'forever';
  return io.run(config.config, mode);
}

function invalidSettings(problems: readonly string[]): UsageError {
  return new UsageError(['invalid settings:', ...problems].join('\n  '));
}

async function status(args: readonly string[], io: WorkerIo): Promise<ExitCode> {
  const { switches, rest } = divideArguments(args, ['json'], LOCAL_SETTINGS);
  const answer = await ask(rest, io, { method: 'GET', path: '/status' });
  const found = answer.body as WorkerStatus;
  if (switches.has('json')) io.write(`${JSON.stringify(found, null, 2)}\n`);
  else io.write(renderStatus(found, Math.floor(io.now() / 1000)));
  return isHealthy(found) ? EXIT.ok : EXIT.problems;
}

async function retry(args: readonly string[], io: WorkerIo): Promise<ExitCode> {
  const [app = '', ...rest] = args;
  if (app === '' || app.startsWith('-')) throw new UsageError('name the app: holdfast worker retry APP');
  await ask(rest, io, { method: 'POST', path: `/retry?app=${encodeURIComponent(app)}` });
  return print(io, `${app} is tried again; holdfast worker status shows how it goes\n`);
}

async function forgetIds(args: readonly string[], io: WorkerIo): Promise<ExitCode> {
  await ask(args, io, { method: 'POST', path: '/forget-ids' });
  return print(io, 'the ids are forgotten: the next answer of the manager counts, whatever its ids are\n');
}

/** A worker that runs refuses a command, or cannot answer it yet. */
class RefusedError extends Error {
  override readonly name = 'RefusedError';
}

/** Asks the worker that runs with the DATA_DIR of these arguments. */
async function ask(
  args: readonly string[],
  { env, readFile }: WorkerIo,
  request: { method: 'GET' | 'POST'; path: string },
): Promise<Answer> {
  const { values, problems } = readSettings(LOCAL_SETTINGS, { env, argv: args, readFile });
  if (problems.length > 0) throw invalidSettings(problems);
  const folder = resolve(String(values['DATA_DIR']));
  const answer = await askSocket(join(folder, SOCKET), request);
  if (answer === null)
    throw new HoldfastError(
      'unavailable',
      `no worker runs with the data folder ${folder}; --data-dir or DATA_DIR names that of the worker`,
    );
  if (answer.status === 200) return answer;
  const { error } = (answer.body ?? {}) as { error?: unknown };
  throw new RefusedError(String(error ?? `the worker answers ${answer.status}`));
}
