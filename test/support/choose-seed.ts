import { randomInt } from 'node:crypto';

/**
 * Runs once before all tests: chooses the seed of all random choices of this run, unless `HOLDFAST_TEST_SEED` is set, and prints
 * it. With the same seed a run makes the same choices; a new one finds rare failures in time.
 */
export function setup(): void {
  process.env['HOLDFAST_TEST_SEED'] ??= String(randomInt(2 ** 31));
  process.stdout.write(
    `Random choices follow from HOLDFAST_TEST_SEED=${process.env['HOLDFAST_TEST_SEED']}.\n`,
  );
}
