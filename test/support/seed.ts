/**
 * Runs before each test file: `HOLDFAST_TEST_SEED` fixes the random examples of property tests, so that a run can be
 * repeated. Without it, every run tries new examples, which finds rare failures in time.
 */
import fc from 'fast-check';

const seed = process.env['HOLDFAST_TEST_SEED'];
if (seed !== undefined) fc.configureGlobal({ ...fc.readConfigureGlobal(), seed: Number(seed) });
