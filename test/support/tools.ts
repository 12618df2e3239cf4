import { execFileSync } from 'node:child_process';

/** A tool that some tests need and not every machine has. */
type Tool = 'docker' | 'mongo' | 'openssl' | 'promtool' | 'reftable' | 'strace' | 'systemd-analyze';

/** Whether `HOLDFAST_TEST_REQUIRE` names this tool (`strace,openssl`), so that its tests must not be skipped. */
export function isRequired(tool: Tool): boolean {
  return (process.env['HOLDFAST_TEST_REQUIRE'] ?? '').split(',').includes(tool);
}

/** Returns `isFound`, for `skipIf`; throws if the tool was not found but is required. */
export function foundOrRequired(tool: Tool, isFound: boolean): boolean {
  if (isFound || !isRequired(tool)) return isFound;
  throw new Error(
    `HOLDFAST_TEST_REQUIRE names ${tool}, which cannot be used here: its tests would be skipped`,
  );
}

/** Whether a command can be run on this machine and exits with 0. */
export function works(command: string, args: readonly string[]): boolean {
  try {
    execFileSync(command, args, { stdio: 'ignore' });
    return true;
  } catch {
    return false;
  }
}
