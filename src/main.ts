#!/usr/bin/env node
import packageJson from '../package.json' with { type: 'json' };

/** The same exit codes as in `src/process/exit.ts`, which must not be imported before the version check. */
const USAGE = 2;
const FAILED = 3;

// The program is imported after the check, because an older Node would fail on syntax or modules that it lacks.
const needed = packageJson.engines.node.replace('>=', '');
if (isAtLeast(needed, process.versions.node)) {
  // The worker loads nothing of the manager, which would take more memory than the worker itself.
  await (isForWorker(process.argv) ? import('./worker/main.ts') : import('./program.ts')).catch(
    reportTooManyFiles,
  );
} else {
  process.stderr.write(`holdfast: Node ${needed} or newer is needed; this is ${process.versions.node}\n`);
  process.exitCode = USAGE;
}

/**
 * Loading the program opens files, which fails at the limit of open files. Any other error is a fault of the
 * installation and is rethrown, so that it is shown with its stack.
 */
function reportTooManyFiles(error: NodeJS.ErrnoException): void {
  if (error.code !== 'EMFILE' && error.code !== 'ENFILE') throw error;
  const reason = 'the program cannot be loaded: too many files are open';
  process.stderr.write(
    `holdfast: ${reason}; raise the limit of open files (ulimit -n; LimitNOFILE= in a unit)\n`,
  );
  process.exitCode = FAILED;
}

function isForWorker([, , command, topic]: readonly string[]): boolean {
  return command === 'worker' || (command === 'help' && topic === 'worker');
}

function isAtLeast(minimum: string, version: string): boolean {
  const [major = 0, minor = 0] = version.split('.').map(Number);
  const [minimumMajor = 0, minimumMinor = 0] = minimum.split('.').map(Number);
  return major === minimumMajor ? minor >= minimumMinor : major > minimumMajor;
}
