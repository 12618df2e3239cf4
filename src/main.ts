#!/usr/bin/env node
import packageJson from '../package.json' with { type: 'json' };

/** Exit code of mistakes in how the program is run, as in `src/cli/io.ts`. */
const USAGE = 2;

// The program itself is imported after the check: an older Node would end with an error about something that it lacks.
const needed = packageJson.engines.node.replace('>=', '');
if (isAtLeast(needed, process.versions.node)) {
  await import('./program.ts');
} else {
  process.stderr.write(`holdfast: Node ${needed} or newer is needed; this is ${process.versions.node}\n`);
  process.exitCode = USAGE;
}

function isAtLeast(least: string, version: string): boolean {
  const [major = 0, minor = 0] = version.split('.').map(Number);
  const [leastMajor = 0, leastMinor = 0] = least.split('.').map(Number);
  return major === leastMajor ? minor >= leastMinor : major > leastMajor;
}
