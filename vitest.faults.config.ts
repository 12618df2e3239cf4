import { defineConfig } from 'vitest/config';
import { TellMore } from './test/support/tell-more.ts';

/** What takes long, or needs a machine that lets it: processes that are killed, full disks, large repositories. */
export default defineConfig({
  test: {
    include: ['test/faults/**/*.test.ts'],
    setupFiles: 'test/support/seed.ts',
    reporters: ['default', new TellMore()],
    // What passes only then is named at the end, with the reason.
    retry: Number(process.env['HOLDFAST_TEST_RETRY'] ?? 0),
    expect: { poll: { timeout: 60_000 } },
    testTimeout: 300_000,
    hookTimeout: 300_000,
    maxWorkers: 2,
  },
});
