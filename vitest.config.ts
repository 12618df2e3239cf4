import { defineConfig } from 'vitest/config';
import type { TestUserConfig } from 'vitest/node';
import { SummaryReporter } from './test/support/summary-reporter.ts';

/** Seconds of the soak, which test/faults starts; it is left out otherwise. */
const soak = Number(process.env['HOLDFAST_TEST_SOAK'] ?? 0);

/** A test that passes only on a retry is named at the end, with the reason. Tests of faults, races and models have none. */
const retry = Number(process.env['HOLDFAST_TEST_RETRY'] ?? 0);

const test: TestUserConfig = {
  /** What runs without `--project`. */
  project: 'main',
  reporters: ['default', new SummaryReporter()],
  globalSetup: 'test/support/choose-seed.ts',
  setupFiles: 'test/support/seed.ts',
  // The default of one second is too short on a machine that can stall for longer.
  expect: { poll: { timeout: 60_000 } },
  // Print values in titles and errors in full.
  chaiConfig: { truncateThreshold: 0 },
  testTimeout: 300_000,
  hookTimeout: 300_000,
};

/** The tests of the program. */
const main: TestUserConfig = {
  include: ['test/**/*.test.ts'],
  exclude: ['test/bench/**', 'test/clients/**', 'test/engine/**', 'test/faults/**'],
  globalSetup: ['test/support/announce-skipped.ts', 'test/support/in-memory.ts'],
  // Loading and warming up the program again for each file took a fifth of the time. test/support/leaks.ts fails a file
  // that leaves something behind.
  isolate: false,
  // For test/support/memory.ts.
  execArgv: ['--expose-gc'],
  setupFiles: ['test/support/leaks.ts', 'test/support/memory.ts'],
  // Twice the cores of a small machine: most of the time is spent waiting for git. Three workers took a fifth longer.
  maxWorkers: 4,
  retry,
  testTimeout: 120_000,
  hookTimeout: 120_000,
};

const PURE = ['protocol', 'desired', 'compose', 'plan', 'events', 'history', 'fleet', 'change', 'http'];

/**
 * What is worth running after each change: the pure layers, `change` and `http`, as far as they start no process and search
 * neither random examples nor the largest texts.
 */
const quick: TestUserConfig = {
  ...main,
  include: [`test/{${PURE.join()}}/**/*.test.ts`, 'test/worker/{plan,status}/**/*.test.ts'],
  exclude: [
    'test/**/*-propert*.test.ts',
    'test/desired/hostile.test.ts',
    'test/change/{answer,writer}.test.ts',
    'test/http/*.test.ts',
    'test/http/protocol/http-rules.test.ts',
    'test/http/routes/**',
  ],
};

/** Killed processes, full disks, large repositories; some need special rights. */
const faults: TestUserConfig = { include: ['test/faults/**/*.test.ts'], maxWorkers: 2 };

/** The worker on a real container engine. `npm run test:engine` runs them in a namespace of their own. */
const engine: TestUserConfig = {
  include: [soak > 0 ? 'test/engine/soak/*.test.ts' : 'test/engine/*.test.ts'],
  retry,
  testTimeout: (soak + 300) * 1000,
  // Each file has an engine of its own, and two in a namespace would share the name of one bridge.
  maxWorkers: 1,
};

/** Clients that are generated from /openapi.json by tools that are downloaded for it; run by `.ci/run`. */
const clients: TestUserConfig = { include: ['test/clients/**/*.test.ts'], retry };

const projects = Object.entries({ main, quick, faults, engine, clients }).map(([name, project]) => ({
  extends: true as const,
  test: { ...project, name },
}));

export default defineConfig({ test: { ...test, projects } });
