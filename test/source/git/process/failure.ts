import { expect } from 'vitest';
import type { GitCommand } from '../../../../src/source/git/process/commands.ts';
import { GitFailure } from '../../../../src/source/git/process/run.ts';

/** A command that the manager itself never runs. */
export function command(...args: string[]): GitCommand {
  return { args };
}

/** Resolves to the GitFailure by which a call rejects; fails the test if it does not. */
export async function failureOf(call: Promise<unknown>): Promise<GitFailure> {
  const error = await call.then(
    () => undefined,
    (reason: unknown) => reason,
  );
  expect(error).toBeInstanceOf(GitFailure);
  return error as GitFailure;
}

/** Calls of git that fail: exit code, what else is special, arguments, and what git prints to standard error. */
export const FAILING_CALLS: [number, string, string[], unknown][] = [
  [1, 'and no message', ['symbolic-ref', '--quiet', 'refs/none'], ''],
  [128, 'and a message', ['cat-file', 'blob', 'none'], 'fatal: Not a valid object name none\n'],
  [129, 'for wrong usage', ['cat-file', '--none'], expect.stringContaining('unknown option')],
];
