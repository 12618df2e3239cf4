import { it } from 'vitest';

/**
 * A test in which work of git has to fit into a real limit of one to three seconds: it waits until that limit is
 * over, so the limit cannot be long. A machine that is shared can stand still for as long. Where `HOLDFAST_TEST_RETRY`
 * allows it (`.ci/run`), such a test is tried again, and named at the end of the run. Every other test has to pass
 * at once: what fails there by chance is a race, of the product or of the test.
 */
export function itMachineBound(name: string, test: () => Promise<void>): void {
  it(name, { retry: Number(process.env['HOLDFAST_TEST_RETRY'] ?? 0) }, test);
}
