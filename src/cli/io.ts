import { parseConfig } from '../config.ts';
import type { Config } from '../settings.ts';

/** What commands take from the process that they run in. */
export interface CommandIo {
  env: Readonly<Record<string, string | undefined>>;
  /** Reads a file of secrets; throws, with why it cannot. */
  readFile(path: string): string;
  /** Results: what another program may read. */
  write(text: string): void;
  /** What is wrong, for people. */
  complain(text: string): void;
  /** Whether complaints go to a terminal, where progress can be drawn. */
  isTerminal: boolean;
  /** Whether results go to a terminal that shows colours, and its user wants them. */
  hasColors: boolean;
}

/** Exit codes of all commands (decisions, "Settings and command line"). */
export const EXIT = { ok: 0, problems: 1, usage: 2, failed: 3 } as const;
export type ExitCode = (typeof EXIT)[keyof typeof EXIT];

/** A command was called in a way that it does not know; the message says what it takes. */
export class UsageError extends Error {
  override readonly name = 'UsageError';
}

/**
 * Reads the settings from the environment, files of secrets and flags. Throws a UsageError with every problem of them.
 */
export function settingsFrom(
  { env, readFile }: Pick<CommandIo, 'env' | 'readFile'>,
  flags: readonly string[] = [],
): Config {
  const config = parseConfig(env, flags, readFile);
  if (config.ok) return config.config;
  throw new UsageError(['invalid settings:', ...config.problems].join('\n  '));
}
