import { parseConfig } from '../config.ts';
import type { Config } from '../settings.ts';

/** What commands need from their process. */
export interface CommandIo {
  env: Readonly<Record<string, string | undefined>>;
  /** Reads the file of a secret; throws an error that says why it cannot. */
  readFile(path: string): string;
  /** Writes results to standard output, which another program may read. */
  write(text: string): void;
  /** Writes errors, warnings and progress to standard error. */
  writeError(text: string): void;
  /** Whether standard error is a terminal, where progress can be drawn. */
  isTerminal: boolean;
  /** Whether standard output is a terminal with colours, and the user wants them. */
  hasColors: boolean;
}

/** Exit codes of all commands (decisions, "Settings and command line"). */
export const EXIT = { ok: 0, problems: 1, usage: 2, failed: 3 } as const;
export type ExitCode = (typeof EXIT)[keyof typeof EXIT];

/** A command line or setting is wrong; the message says what is accepted. */
export class UsageError extends Error {
  override readonly name = 'UsageError';
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
