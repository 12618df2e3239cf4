import { execFileSync } from 'node:child_process';

/** What some tests need, and not every machine has. */
type Tool = 'mongo' | 'openssl' | 'promtool' | 'reftable' | 'strace';

/** Whether a run must not leave out the tests that need this tool: `HOLDFAST_TEST_REQUIRE` names it (`strace,openssl`). */
export function isRequired(tool: Tool): boolean {
  return (process.env['HOLDFAST_TEST_REQUIRE'] ?? '').split(',').includes(tool);
}

/** Gives back whether a tool was found; throws where it was not, and is required. */
export function foundOrRequired(tool: Tool, isFound: boolean): boolean {
  if (isFound || !isRequired(tool)) return isFound;
  throw new Error(
    `HOLDFAST_TEST_REQUIRE names ${tool}, which cannot be used here: its tests would be left out`,
  );
}

/** Whether a command can be run here, and ends well. */
export function works(command: string, args: readonly string[]): boolean {
  try {
    execFileSync(command, args, { stdio: 'ignore' });
    return true;
  } catch {
    return false;
  }
}
