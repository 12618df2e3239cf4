import { defineConfig } from 'vitest/config';
import { SummaryReporter } from './test/support/summary-reporter.ts';

/** Seconds of the soak, which test/faults starts; it is left out otherwise. */
const soak = Number(process.env['HOLDFAST_TEST_SOAK'] ?? 0);

/** The tests on a real container engine. `npm run test:engine` runs them in a namespace of their own. */
export default defineConfig({
  test: {
    include: soak > 0 ? ['test/engine/soak/*.test.ts'] : ['test/engine/*.test.ts'],
    globalSetup: 'test/support/choose-seed.ts',
    setupFiles: 'test/support/seed.ts',
    reporters: ['default', new SummaryReporter()],
    // A test that passes only on a retry is named at the end, with the reason.
    retry: Number(process.env['HOLDFAST_TEST_RETRY'] ?? 0),
    expect: { poll: { timeout: 60_000 } },
    // Print values in titles and errors in full.
    chaiConfig: { truncateThreshold: 0 },
    testTimeout: (soak + 300) * 1000,
    hookTimeout: 300_000,
    // Each file has an engine of its own, and two in a namespace would share the name of one bridge.
    maxWorkers: 1,
  },
});
