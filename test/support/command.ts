import { readFileSync } from 'node:fs';
import { runCommand } from '../../src/cli/run.ts';
import type { CopyStore } from '../../src/cli/store-copy.ts';
import type { Config } from '../../src/settings.ts';

/** What a command line did. */
export interface CommandResult {
  code: number;
  /** What it wrote for other programs, and what it complained of. */
  out: string;
  err: string;
  /** The settings with which `serve` was called. */
  served: Config | null;
}

export interface CommandEnvironment {
  env?: Readonly<Record<string, string | undefined>>;
  isTerminal?: boolean;
  hasColors?: boolean;
  /** What `serve` does instead of serving. */
  serve?: (config: Config) => Promise<0>;
  /** What `store copy` does instead of copying. */
  copyStore?: CopyStore;
}

/** Runs a command line in this process, as `main` does. */
export async function runCli(
  argv: readonly string[],
  {
    env = {},
    isTerminal = false,
    hasColors = false,
    serve = async () => 0,
    copyStore = async () => ({}),
  }: CommandEnvironment = {},
): Promise<CommandResult> {
  const result: CommandResult = { code: -1, out: '', err: '', served: null };
  result.code = await runCommand(argv, {
    io: {
      env: { PATH: process.env['PATH'], ...env },
      readFile: (path) => readFileSync(path, 'utf8'),
      write: (text) => {
        result.out += text;
      },
      writeError: (text) => {
        result.err += text;
      },
      isTerminal,
      hasColors,
    },
    version: '1.2.3',
    copyStore,
    serve: (config) => {
      result.served = config;
      return serve(config);
    },
  });
  return result;
}
