/**
 * Runs before each test file: with `HOLDFAST_TEST_SEED`, properties are tried on the examples of that seed, so that a run can be
 * done again. Without it every run tries others; that is how rare failures are found.
 */
import fc from 'fast-check';

const seed = process.env['HOLDFAST_TEST_SEED'];
if (seed !== undefined) fc.configureGlobal({ ...fc.readConfigureGlobal(), seed: Number(seed) });
