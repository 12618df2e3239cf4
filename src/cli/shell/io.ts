import { UsageError } from '../../process/exit.ts';
import { parseConfig } from '../../settings/config.ts';
import type { Config } from '../../settings/table.ts';

export { EXIT, type ExitCode, UsageError } from '../../process/exit.ts';

/** What commands need from their process. */
export interface CommandIo {
  env: Readonly<Record<string, string | undefined>>;
  /** Reads the file of a secret; throws an error that says why it cannot. */
  readFile(path: string): string;
  /** Returns the permissions of a file; null where the system has none. Throws an error if there is no such file. */
  fileMode(path: string): number | null;
  /** Writes results to standard output, which another program may read. */
  write(text: string): void;
  /** Writes a result for people that can be long: on a terminal through a pager. */
  page(text: string): Promise<void>;
  /** Writes errors, warnings and progress to standard error. */
  writeError(text: string): void;
  /** The time, Unix milliseconds. */
  now(): number;
  /** Whether standard error is a terminal, where progress can be drawn. */
  isTerminal: boolean;
  /** How many characters a line of the terminal has; null if standard output is none. */
  columns: number | null;
  /** Whether standard output is a terminal with colours, and the user wants them. */
  hasColors: boolean;
}

/** Reads the settings from the environment, files of secrets and flags. Throws a UsageError with all their problems. */
export function settingsFrom(
  { env, readFile }: Pick<CommandIo, 'env' | 'readFile'>,
  flags: readonly string[] = [],
): Config {
  const config = parseConfig(env, flags, readFile);
  if (config.ok) return config.config;
  throw new UsageError(['invalid settings:', ...config.problems].join('\n  '));
}
