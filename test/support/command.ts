import { readFileSync, statSync } from 'node:fs';
import { runCommand } from '../../src/cli/run.ts';
import type { Config } from '../../src/settings/table.ts';

/** The result of a command line. */
export interface CommandResult {
  code: number;
  /** Standard output. */
  out: string;
  /** Standard error. */
  err: string;
  /** The settings with which `serve` was called; null if it was not. */
  served: Config | null;
}

export interface CommandEnvironment {
  /** Variables besides `PATH`. */
  env?: Readonly<Record<string, string | undefined>>;
  isTerminal?: boolean;
  columns?: number | null;
  hasColors?: boolean;
  /** The time, Unix milliseconds; that of this machine by default. */
  now?: () => number;
  /** Called instead of starting the server. */
  serve?: (config: Config) => Promise<0>;
}

/** Runs a command line of `holdfast` in this process; serves nothing unless it is given how. */
export async function runCli(
  argv: readonly string[],
  {
    env = {},
    isTerminal = false,
    columns = null,
    hasColors = false,
    now = Date.now,
    serve = async () => 0,
  }: CommandEnvironment = {},
): Promise<CommandResult> {
  const result: CommandResult = { code: -1, out: '', err: '', served: null };
  result.code = await runCommand(argv, {
    io: {
      env: { PATH: process.env['PATH'], ...env },
      readFile: (path) => readFileSync(path, 'utf8'),
      fileMode: (path) => statSync(path).mode,
      write: (text) => {
        result.out += text;
      },
      page: async (text) => {
        result.out += text;
      },
      writeError: (text) => {
        result.err += text;
      },
      now,
      isTerminal,
      columns,
      hasColors,
    },
    version: '1.2.3',
    serve: (config) => {
      result.served = config;
      return serve(config);
    },
  });
  return result;
}
