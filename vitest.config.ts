import { defineConfig } from 'vitest/config';
import { SummaryReporter } from './test/support/summary-reporter.ts';

export default defineConfig({
  test: {
    include: ['test/**/*.test.ts'],
    exclude: ['test/bench/**', 'test/clients/**', 'test/engine/**', 'test/faults/**'],
    globalSetup: [
      'test/support/announce-skipped.ts',
      'test/support/in-memory.ts',
      'test/support/choose-seed.ts',
    ],
    // Loading and warming up the program again for each file took a fifth of the time. test/support/leaks.ts fails a
    // file that leaves something behind.
    isolate: false,
    // For test/support/memory.ts.
    execArgv: ['--expose-gc'],
    setupFiles: ['test/support/leaks.ts', 'test/support/memory.ts', 'test/support/seed.ts'],
    // Twice the cores of a small machine: most of the time is spent waiting for git. Three workers took a fifth longer.
    maxWorkers: 4,
    reporters: ['default', new SummaryReporter()],
    // A test that passes only on a retry is named at the end, with the reason. Tests of races and of models have none.
    retry: Number(process.env['HOLDFAST_TEST_RETRY'] ?? 0),
    // The default of one second is too short on a machine that can stall for longer.
    expect: { poll: { timeout: 60_000 } },
    // Print values in titles and errors in full.
    chaiConfig: { truncateThreshold: 0 },
    testTimeout: 120_000,
    hookTimeout: 120_000,
  },
});
