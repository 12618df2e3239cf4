import { defineConfig } from 'vitest/config';

/** Clients that are generated from /openapi.json by tools that are downloaded for it; run by `.ci/run`. */
export default defineConfig({
  test: {
    include: ['test/clients/**/*.test.ts'],
    retry: Number(process.env['HOLDFAST_TEST_RETRY'] ?? 0),
    chaiConfig: { truncateThreshold: 0 },
    testTimeout: 300_000,
    hookTimeout: 300_000,
  },
});
