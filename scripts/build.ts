import { rm } from 'node:fs/promises';
import { fileURLToPath } from 'node:url';
import { build } from 'esbuild';

const PROJECT = fileURLToPath(new URL('..', import.meta.url));

/** What uses files beside itself, is not JavaScript, or tolerates no bundler: it is loaded from node_modules. */
const LOADED = [
  '@fastify/swagger',
  '@photostructure/sqlite',
  'fastify',
  'mongodb',
  'pino',
  'pino-pretty',
  'yaml',
];

/** A package of CommonJS in the bundle asks for Node's own modules by `require`, which an ES module does not have. */
const REQUIRE =
  "import { createRequire as createRequireOfBundle } from 'node:module'; const require = createRequireOfBundle(import.meta.url);";

/**
 * Makes `dist/` from `src/`: a few files instead of 250, with what they use of zod and nothing else of it. Finding and
 * reading the others took a quarter of a warm start, and 9 MB of memory (measured, Node 20.20). Types are checked by
 * `npm run check`, not here.
 */
await rm(`${PROJECT}/dist`, { recursive: true, force: true });
await build({
  absWorkingDir: PROJECT,
  entryPoints: ['src/main.ts'],
  outdir: 'dist',
  bundle: true,
  // What is imported when it is needed stays in files of its own.
  splitting: true,
  format: 'esm',
  platform: 'node',
  target: 'node20.19',
  external: LOADED,
  banner: { js: REQUIRE },
  // `node --enable-source-maps dist/main.js` tells the places in src/.
  sourcemap: 'linked',
  sourcesContent: false,
  logLevel: 'warning',
});
