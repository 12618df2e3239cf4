import { obstacleToEngines } from './engine/namespace.ts';
import { works } from './tools.ts';

/** Runs once before all tests: prints which tests are skipped on this machine, and why. */
export function setup(): void {
  if (process.env['HOLDFAST_TEST_MONGODB_URI'] === undefined)
    announce(
      'of the MongoDB store',
      'HOLDFAST_TEST_MONGODB_URI is not set (npm run test:mongo starts a server)',
    );
  if (!works('openssl', ['version'])) announce('of origins over https', 'openssl is not installed');
  const obstacle = obstacleToEngines();
  if (obstacle !== null) announce('on a real container engine', obstacle);
  for (const shell of ['bash', 'zsh', 'fish'])
    if (!works(shell, ['--version'])) announce(`of completion in ${shell}`, 'it is not installed');
}

function announce(which: string, why: string): void {
  process.stdout.write(`The tests ${which} are skipped: ${why}.\n`);
}
