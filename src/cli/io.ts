/** What commands take from the process that they run in. */
export interface CommandIo {
  env: Readonly<Record<string, string | undefined>>;
  /** Results: what another program may read. */
  write(text: string): void;
  /** What is wrong, for people. */
  complain(text: string): void;
  /** Whether results go to a terminal. */
  isTerminal: boolean;
  /** Whether that shows colours, and its user wants them. */
  hasColors: boolean;
}

/** Exit codes of all commands (decisions, "Settings and command line"). */
export const EXIT = { ok: 0, problems: 1, usage: 2, failed: 3 } as const;
export type ExitCode = (typeof EXIT)[keyof typeof EXIT];

/** A command was called in a way that it does not know; the message says what it takes. */
export class UsageError extends Error {
  override readonly name = 'UsageError';
}
