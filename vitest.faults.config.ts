import { defineConfig } from 'vitest/config';
import { SummaryReporter } from './test/support/summary-reporter.ts';

/** The slow tests, some of which need special rights: killed processes, full disks, large repositories. */
export default defineConfig({
  test: {
    include: ['test/faults/**/*.test.ts'],
    globalSetup: 'test/support/choose-seed.ts',
    setupFiles: 'test/support/seed.ts',
    reporters: ['default', new SummaryReporter()],
    expect: { poll: { timeout: 60_000 } },
    // Print values in titles and errors in full.
    chaiConfig: { truncateThreshold: 0 },
    testTimeout: 300_000,
    hookTimeout: 300_000,
    maxWorkers: 2,
  },
});
