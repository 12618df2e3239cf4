import { descriptorAdvice, HoldfastError, messageOf } from '../errors.ts';
import { isFlag } from '../settings/config.ts';
import { withoutValue } from '../settings/read.ts';
import type { Config } from '../settings/table.ts';
import { closestName } from '../suggest.ts';
import { USUAL_WIDTH } from '../text/wrap.ts';
import { plan } from './check/plan.ts';
import { validate } from './check/validate.ts';
import { actOnApp, prune } from './fleet/act.ts';
import { apps } from './fleet/apps.ts';
import { logs, retry } from './fleet/ask.ts';
import { devices } from './fleet/devices.ts';
import { status } from './fleet/status.ts';
import { runImport } from './import/import-compose.ts';
import { history } from './past/history.ts';
import { rollback } from './past/rollback.ts';
import { show } from './past/show.ts';
import { COMMAND_NAMES, commandOf } from './shell/commands.ts';
import { completion } from './shell/completion.ts';
import { helpText } from './shell/help.ts';
import { type CommandIo, EXIT, type ExitCode, settingsFrom, UsageError } from './shell/io.ts';

/** What `runCommand` needs. */
export interface RunOptions {
  io: CommandIo;
  version: string;
  /** Runs the manager until it is stopped. */
  serve(config: Config): Promise<ExitCode>;
}

/** Runs one command line and resolves to its exit code. Never rejects. */
export async function runCommand(argv: readonly string[], options: RunOptions): Promise<ExitCode> {
  const { io } = options;
  try {
    return await dispatch(argv, options);
  } catch (error) {
    io.writeError(`holdfast: ${withAdvice(messageOf(error))}\n`);
    if (error instanceof UsageError) io.writeError(`Try "${helpCommand(argv)}".\n`);
    return isUsage(error) ? EXIT.usage : EXIT.failed;
  }
}

/** What shows the help of the command that these arguments begin with. */
function helpCommand(argv: readonly string[]): string {
  const [first = ''] = argv;
  const command = isFlag(first) ? 'serve' : commandOf(argv)?.name;
  return command === undefined ? 'holdfast --help' : `holdfast ${command} --help`;
}

/** Whether the command line or a setting is wrong, or names what does not exist. */
function isUsage(error: unknown): boolean {
  if (error instanceof HoldfastError) return error.kind === 'invalid' || error.kind === 'absent';
  return error instanceof UsageError;
}

/** Adds advice to a message that says that too many files are open. */
function withAdvice(message: string): string {
  const advice = descriptorAdvice(message);
  return advice === null || message.includes(advice) ? message : `${message}: ${advice}`;
}

async function dispatch(argv: readonly string[], options: RunOptions): Promise<ExitCode> {
  const { io, version } = options;
  const [command = '', ...args] = argv;
  const isAsked = argv.includes('--help') || argv.includes('-h');
  if (command === 'help' && args[0] !== undefined && !isAsked && commandOf(args) === undefined)
    throw unknownCommand(args[0]);
  if (isAsked || command === 'help')
    return print(io, helpText(commandOf(command === 'help' ? args : argv), io.columns ?? USUAL_WIDTH));
  if (argv.includes('--version') || command === '-v') return print(io, `${version}\n`);
  if (!Object.hasOwn(RUNNERS, command)) throw unknownCommand(argv[0]);
  return (RUNNERS[command] as Runner)(args, options);
}

type Runner = (args: readonly string[], options: RunOptions) => ExitCode | Promise<ExitCode>;

/** What runs a command, by its name. */
const RUNNERS: Readonly<Record<string, Runner>> = {
  serve: (args, { io, serve }) => serve(settingsFrom(io, args)),
  validate: (args, { io }) => validate(args, io),
  plan: (args, { io }) => plan(args, io),
  history: (args, { io }) => history(args, io),
  show: (args, { io }) => show(args, io),
  rollback: (args, { io }) => rollback(args, io),
  import: (args, { io }) => runImport(args, io),
  status: (args, { io }) => status(args, io),
  apps: (args, { io }) => apps(args, io),
  devices: (args, { io }) => devices(args, io),
  restart: (args, { io }) => actOnApp('restart', args, io),
  start: (args, { io }) => actOnApp('start', args, io),
  stop: (args, { io }) => actOnApp('stop', args, io),
  prune: (args, { io }) => prune(args, io),
  logs: (args, { io }) => logs(args, io),
  retry: (args, { io }) => retry(args, io),
  completion: (args, { io }) => print(io, completion(args)),
};
const COMMANDS = `${COMMAND_NAMES.slice(0, -1).join(', ')} and ${COMMAND_NAMES.slice(-1)}`;

/** Never shows what follows a `=`: it can be a secret that was meant for a flag of `serve`. */
function unknownCommand(command: string | undefined): UsageError {
  if (command === undefined) return new UsageError(`name a command; the commands are ${COMMANDS}`);
  const given = withoutValue(command);
  if (isFlag(command)) return new UsageError(`flags belong to serve: holdfast serve ${given} …`);
  // Commands are short: with two mistakes allowed, `export` would stand for `import`.
  const closest = closestName(given, [...COMMAND_NAMES, 'help', '--version'], 1);
  const hint = closest === null ? '.' : `; did you mean ${closest}?`;
  return new UsageError(`"${given}" is not a command${hint} The commands are ${COMMANDS}`);
}

function print(io: CommandIo, text: string): ExitCode {
  io.write(text);
  return EXIT.ok;
}
