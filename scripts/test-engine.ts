/**
 * Runs the tests on a real container engine (`test/engine/`) in namespaces of their own: half of the files in each of two, side
 * by side. Further arguments go to vitest, in one namespace. Where no engine can run they are skipped with one line, unless
 * `HOLDFAST_TEST_REQUIRE` names `docker`.
 */
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { inNamespace, obstacleToEngines } from '../test/support/engine/namespace.ts';
import { foundOrRequired } from '../test/support/tools.ts';

const obstacle = obstacleToEngines();
if (!foundOrRequired('docker', obstacle === null)) {
  process.stdout.write(`The tests on a real container engine are skipped: ${obstacle}.\n`);
  process.exit(0);
}
const given = process.argv.slice(2);
// Most of the time is spent waiting for containers, so that two suit any machine.
const parts = given.length > 0 ? [given] : [['--shard=1/2'], ['--shard=2/2']];
const codes = await Promise.all(parts.map(runTests));
process.exit(Math.max(...codes));

/** Runs tests in a namespace. Resolves to their exit code. */
async function runTests(options: readonly string[]): Promise<number> {
  const [command = '', ...args] = inNamespace(['npx', 'vitest', 'run', '--project', 'engine', ...options]);
  const [code] = await once(spawn(command, args, { stdio: 'inherit' }), 'exit');
  return (code as number | null) ?? 1;
}
