#!/usr/bin/env node
import packageJson from '../package.json' with { type: 'json' };

/** Exit codes of mistakes in how the program is run, and of what can pass, as in `src/cli/io.ts`. */
const USAGE = 2;
const FAILED = 3;

// The program itself is imported after the check: an older Node would end with an error about something that it lacks.
const needed = packageJson.engines.node.replace('>=', '');
if (isAtLeast(needed, process.versions.node)) {
  await import('./program.ts').catch(tellTooManyFiles);
} else {
  process.stderr.write(`holdfast: Node ${needed} or newer is needed; this is ${process.versions.node}\n`);
  process.exitCode = USAGE;
}

/** Its own packages are files, too; what else keeps it from being loaded is for the one who installed it, with its stack. */
function tellTooManyFiles(error: NodeJS.ErrnoException): void {
  if (error.code !== 'EMFILE' && error.code !== 'ENFILE') throw error;
  const what = 'the program cannot be loaded: too many files are open';
  process.stderr.write(
    `holdfast: ${what}; raise the limit of open files (ulimit -n; LimitNOFILE= in a unit)\n`,
  );
  process.exitCode = FAILED;
}

function isAtLeast(least: string, version: string): boolean {
  const [major = 0, minor = 0] = version.split('.').map(Number);
  const [leastMajor = 0, leastMinor = 0] = least.split('.').map(Number);
  return major === leastMajor ? minor >= leastMinor : major > leastMajor;
}
