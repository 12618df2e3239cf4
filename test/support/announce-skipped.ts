import { works } from './tools.ts';

/** Runs once before all tests: says which are left out here, and why. */
export function setup(): void {
  if (process.env['HOLDFAST_TEST_MONGODB_URI'] === undefined)
    say('of the MongoDB store', 'HOLDFAST_TEST_MONGODB_URI is not set (npm run test:mongo starts a server)');
  if (!works('openssl', ['version'])) say('of origins over https', 'there is no openssl here');
}

function say(which: string, why: string): void {
  process.stdout.write(`The tests ${which} are left out: ${why}.\n`);
}
