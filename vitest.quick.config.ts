import { mergeConfig } from 'vitest/config';
import all from './vitest.config.ts';

const PURE = ['protocol', 'desired', 'compose', 'plan', 'events', 'history', 'fleet', 'change', 'http'];
const WORKER = ['plan', 'status'];

/**
 * What is worth running after each change: the pure layers, `change` and `http`, as far as they start no process and search
 * neither random examples nor the largest texts.
 */
const quick = mergeConfig(all, {
  test: {
    exclude: [
      'test/**/*-propert*.test.ts',
      'test/desired/hostile.test.ts',
      'test/change/{answer,writer}.test.ts',
      'test/http/*.test.ts',
      'test/http/protocol/http-rules.test.ts',
      'test/http/routes/**',
    ],
  },
});

/** `mergeConfig` joins lists. */
quick.test.include = [
  ...PURE.map((folder) => `test/${folder}/**/*.test.ts`),
  ...WORKER.map((folder) => `test/worker/${folder}/**/*.test.ts`),
];

export default quick;
