import { parseConfig } from '../config.ts';
import { descriptorTrouble, HoldfastError, messageOf } from '../errors.ts';
import type { Config } from '../settings.ts';
import { helpText } from './help.ts';
import { type CommandIo, EXIT, type ExitCode, UsageError } from './io.ts';
import { plan } from './plan.ts';
import { type CopyStore, storeCopy } from './store-copy.ts';
import { validate } from './validate.ts';

/** What running commands needs beside the terminal. */
export interface RunOptions {
  io: CommandIo;
  version: string;
  /** Runs the manager until it is told to stop. */
  serve(config: Config): Promise<ExitCode>;
  copyStore: CopyStore;
}

/** Runs one command line and resolves to its exit code. Never rejects. */
export async function runCommand(argv: readonly string[], options: RunOptions): Promise<ExitCode> {
  const { io } = options;
  try {
    return await dispatch(argv, options);
  } catch (error) {
    io.complain(`holdfast: ${withTrouble(messageOf(error))}\n`);
    if (error instanceof UsageError) io.complain('Try "holdfast --help".\n');
    const isUsage =
      error instanceof UsageError || (error instanceof HoldfastError && error.kind === 'invalid');
    return isUsage ? EXIT.usage : EXIT.failed;
  }
}

/** Whatever it was that could not be opened. */
function withTrouble(message: string): string {
  const trouble = descriptorTrouble(message);
  return trouble === null || message.includes(trouble) ? message : `${message}: ${trouble}`;
}

async function dispatch(argv: readonly string[], options: RunOptions): Promise<ExitCode> {
  const { io, version, serve } = options;
  const [command, ...args] = argv;
  if (argv.includes('--help') || argv.includes('-h') || command === 'help')
    return say(io, helpText(command === 'help' ? args[0] : command));
  if (argv.includes('--version') || argv.includes('-v')) return say(io, `${version}\n`);
  if (command === 'validate') return validate(args, io);
  if (command === 'plan') return plan(args, io);
  if (command === 'store') return storeCopy(args, io, options.copyStore);
  if (command === 'serve') return serveWith(args, io, serve);
  throw new UsageError(
    command === undefined ? 'name a command: serve, validate, plan or store' : `"${command}" is no command`,
  );
}

function say(io: CommandIo, text: string): ExitCode {
  io.write(text);
  return EXIT.ok;
}

async function serveWith(
  args: readonly string[],
  io: CommandIo,
  serve: RunOptions['serve'],
): Promise<ExitCode> {
  const config = parseConfig(io.env, args);
  if (config.ok) return serve(config.config);
  throw new UsageError(['the settings have problems:', ...config.problems].join('\n  '));
}
