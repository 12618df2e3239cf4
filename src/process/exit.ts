/** Exit codes of all commands (docs/contract.md, 12.2). */
export const EXIT = { ok: 0, problems: 1, usage: 2, failed: 3 } as const;
export type ExitCode = (typeof EXIT)[keyof typeof EXIT];

/** A command line or setting is wrong; the message says what is accepted. */
export class UsageError extends Error {
  override readonly name = 'UsageError';
}
