import { defineConfig } from 'vitest/config';
import { SummaryReporter } from './test/support/summary-reporter.ts';

/** The slow tests, some of which need special rights: killed processes, full disks, large repositories. */
export default defineConfig({
  test: {
    include: ['test/faults/**/*.test.ts'],
    setupFiles: 'test/support/seed.ts',
    reporters: ['default', new SummaryReporter()],
    // A test that passes only on a retry is named at the end, with the reason.
    retry: Number(process.env['HOLDFAST_TEST_RETRY'] ?? 0),
    expect: { poll: { timeout: 60_000 } },
    // Print values in titles and errors in full.
    chaiConfig: { truncateThreshold: 0 },
    testTimeout: 300_000,
    hookTimeout: 300_000,
    maxWorkers: 2,
  },
});
