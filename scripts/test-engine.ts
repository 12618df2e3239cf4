/**
 * Runs the tests on a real container engine (`test/engine/`) in a namespace of their own. Further arguments go to vitest.
 * Where no engine can run they are skipped with one line, unless `HOLDFAST_TEST_REQUIRE` names `docker`.
 */
import { spawn } from 'node:child_process';
import { inNamespace, obstacleToEngines } from '../test/support/engine/namespace.ts';
import { foundOrRequired } from '../test/support/tools.ts';

const obstacle = obstacleToEngines();
if (!foundOrRequired('docker', obstacle === null)) {
  process.stdout.write(`The tests on a real container engine are skipped: ${obstacle}.\n`);
  process.exit(0);
}
const vitest = ['npx', 'vitest', 'run', '--config', 'vitest.engine.config.ts', ...process.argv.slice(2)];
const [command = '', ...args] = inNamespace(vitest);
spawn(command, args, { stdio: 'inherit' }).once('exit', (code) => process.exit(code ?? 1));
