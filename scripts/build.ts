import { createHash } from 'node:crypto';
import { chmod, mkdir, readdir, readFile, rename, rm, writeFile } from 'node:fs/promises';
import { basename, join } from 'node:path';
import { fileURLToPath } from 'node:url';

/**
 * Bundles `src/` into `dist/`: a few files instead of 250, with only those parts of zod that are used. Finding and
 * reading all files took a quarter of a warm start, and 9 MB of memory (measured, Node 20.20). Other packages are loaded
 * from node_modules: bundling them saved another 40 ms, for a fastify that is not the published one. Types are checked by
 * `npm run check`.
 *
 * Does nothing if `dist/` is of the present sources. Programs that run from `dist/` go on, and so do other builds: every
 * file appears whole, entry points last, and the files of the build before stay until the next one. `--clean` removes them.
 */

const PROJECT = fileURLToPath(new URL('..', import.meta.url));
const DIST = join(PROJECT, 'dist');

const ENTRY_POINTS = { main: 'src/main.ts' };

/** The worker alone, in one file with all packages that it needs, for a device's image (examples/worker.Dockerfile). */
const WORKER = { worker: 'src/worker/main.ts' };

/** The files and folders that determine the result. */
const SOURCES = ['src', 'scripts', 'package.json', 'package-lock.json', 'tsconfig.json'];

/**
 * Packages that are not bundled but loaded from node_modules: they read files beside their own, contain native code, or
 * do not work in a bundle.
 */
const EXTERNAL = [
  '@fastify/swagger',
  '@photostructure/sqlite',
  'fastify',
  'mongodb',
  'pino',
  'pino-pretty',
  'yaml',
];

/** Defines `require`, which ES modules lack: bundled CommonJS packages load Node's own modules with it. */
const REQUIRE =
  "import { createRequire as createRequireOfBundle } from 'node:module'; const require = createRequireOfBundle(import.meta.url);";

/** What `dist/` holds. */
interface BuildRecord {
  /** The digest of all sources. */
  sources: string;
  /** The digest of each file, by name. */
  files: Record<string, string>;
  /** The files of the build before. */
  previous: string[];
}

const RECORD = 'build.json';

const sources = await digestOfSources();
if (!(await isFresh(sources))) await install(await bundle(), sources);
if (process.argv.includes('--clean')) await clean();

async function digestOfSources(): Promise<string> {
  const hash = createHash('sha256');
  for (const source of SOURCES) {
    for (const file of await filesIn(source)) {
      hash.update(`${file}\0${digestOf(await readFile(join(PROJECT, file)))}\0`);
    }
  }
  return hash.digest('hex');
}

/** Resolves to the path itself if it is a file, or to the sorted paths of all files in the folder. */
async function filesIn(path: string): Promise<string[]> {
  const entries = await readdir(join(PROJECT, path), { withFileTypes: true }).catch(() => null);
  if (entries === null) return [path];
  const lists = await Promise.all(
    entries.map((entry) => {
      const inner = `${path}/${entry.name}`;
      return entry.isDirectory() ? filesIn(inner) : [inner];
    }),
  );
  return lists.flat().sort();
}

function digestOf(contents: Uint8Array): string {
  return createHash('sha256').update(contents).digest('hex');
}

/** Resolves to null if there is no record, or one that is damaged. */
async function readRecord(): Promise<BuildRecord | null> {
  const text = readFile(join(DIST, RECORD), 'utf8');
  return text.then((json) => JSON.parse(json) as BuildRecord).catch(() => null);
}

/** Whether `dist/` was built from these sources, and is as the build left it. */
async function isFresh(present: string): Promise<boolean> {
  const record = await readRecord();
  if (record?.sources !== present) return false;
  const checks = Object.entries(record.files).map(async ([name, digest]) => {
    const contents = await readFile(join(DIST, name)).catch(() => null);
    return contents !== null && digestOf(contents) === digest;
  });
  return (await Promise.all(checks)).every(Boolean);
}

/** Resolves to the contents of the files, by name; entry points last. */
async function bundle(): Promise<Map<string, Uint8Array>> {
  const { build } = await import('esbuild');
  const common = {
    absWorkingDir: PROJECT,
    outdir: DIST,
    write: false,
    bundle: true,
    format: 'esm',
    platform: 'node',
    target: 'node20.19',
    // With `node --enable-source-maps dist/main.js`, stack traces name the lines in src/.
    sourcemap: 'linked',
    sourcesContent: false,
    logLevel: 'warning',
  } as const;
  const builds = await Promise.all([
    // Modules that are loaded by `import()` stay in files of their own.
    build({
      ...common,
      entryPoints: ENTRY_POINTS,
      splitting: true,
      external: EXTERNAL,
      banner: { js: REQUIRE },
    }),
    build({ ...common, entryPoints: WORKER, banner: { js: `#!/usr/bin/env node\n${REQUIRE}` } }),
  ]);
  const files = builds
    .flatMap(({ outputFiles }) => outputFiles)
    .map(({ path, contents }) => [basename(path), contents] as const);
  const isEntry = (name: string): boolean => name.replace(/\.js$/, '') in ENTRY_POINTS;
  return new Map([...files.filter(([name]) => !isEntry(name)), ...files.filter(([name]) => isEntry(name))]);
}

async function install(files: ReadonlyMap<string, Uint8Array>, ofSources: string): Promise<void> {
  await mkdir(DIST, { recursive: true });
  const found = await readdir(DIST);
  for (const [name, contents] of files) await put(name, contents);
  const last = await readRecord();
  // Another build of the same sources was faster. The files before it may still be in use.
  if (last?.sources === ofSources) return;
  const record: BuildRecord = {
    sources: ofSources,
    files: Object.fromEntries([...files].map(([name, contents]) => [name, digestOf(contents)])),
    previous: last === null ? found : Object.keys(last.files),
  };
  await put(RECORD, Buffer.from(`${JSON.stringify(record, null, 2)}\n`));
  const kept = new Set([...files.keys(), ...record.previous]);
  await remove((last?.previous ?? []).filter((name) => !kept.has(name)));
}

/** Writes a file that appears whole. A script gets the right to be executed. */
async function put(name: string, contents: Uint8Array): Promise<void> {
  const temporary = join(DIST, `.${name}.${process.pid}`);
  await writeFile(temporary, contents);
  if (contents[0] === 0x23 && contents[1] === 0x21) await chmod(temporary, 0o755);
  await rename(temporary, join(DIST, name));
}

/** Removes all files that are not of the last build. */
async function clean(): Promise<void> {
  const kept = new Set([RECORD, ...Object.keys((await readRecord())?.files ?? {})]);
  await remove((await readdir(DIST)).filter((name) => !kept.has(name)));
}

async function remove(names: readonly string[]): Promise<void> {
  for (const name of names) await rm(join(DIST, name), { force: true });
}
