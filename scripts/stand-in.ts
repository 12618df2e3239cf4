import { execFile } from 'node:child_process';
import { cp, mkdir, mkdtemp, rename, rm, writeFile } from 'node:fs/promises';
import { join, resolve } from 'node:path';
import { promisify } from 'node:util';
import { exists, type MortalServer, startLocalServer, startOrSay } from './local-server.ts';

const VERSION = 'v1.24.2';
const MODULE = 'github.com/FerretDB/FerretDB';
const CACHE = resolve('node_modules/.cache/ferretdb');
/** Milliseconds for the download and for the build together. */
const BUILD_LIMIT = 420_000;

const run = promisify(execFile);

/**
 * Starts FerretDB on a free port of this machine, built with Go where it is not in the cache yet. Where it cannot be
 * had, says so in one line and resolves to null.
 */
export function startStandIn(): Promise<MortalServer | null> {
  return startOrSay(`FerretDB ${VERSION} with its SQLite backend`, async () => {
    const binary = await build();
    return startLocalServer((port, folder) => [binary, ...flags(port, folder)]);
  });
}

/**
 * `go install` refuses this version, whose module lacks a file that its program wants at the start: the text of the
 * version. So a copy of the module gets it, and is built.
 */
async function build(): Promise<string> {
  const binary = join(CACHE, `ferretdb-${VERSION}`);
  if (await exists(binary)) return binary;
  const deadline = AbortSignal.timeout(BUILD_LIMIT);
  await mkdir(CACHE, { recursive: true });
  const work = await mkdtemp(join(CACHE, 'build-'));
  try {
    const options = { cwd: work, signal: deadline, env: { ...process.env, GOWORK: 'off' } };
    const { stdout } = await run('go', ['mod', 'download', '-json', `${MODULE}@${VERSION}`], options);
    const { Dir: source } = JSON.parse(stdout) as { Dir: string };
    await cp(source, join(work, 'module'), { recursive: true, mode: 0 });
    await run('chmod', ['-R', 'u+w', 'module'], options);
    await writeFile(join(work, 'module/build/version/version.txt'), `${VERSION}\n`);
    const arguments_ = ['build', '-buildvcs=false', '-o', join(work, 'ferretdb'), './cmd/ferretdb'];
    await run('go', arguments_, { ...options, cwd: join(work, 'module') });
    await rename(join(work, 'ferretdb'), binary);
    return binary;
  } finally {
    await rm(work, { recursive: true, force: true });
  }
}

function flags(port: number, folder: string): string[] {
  return [
    '--handler=sqlite',
    `--sqlite-url=file:${folder}/`,
    `--listen-addr=127.0.0.1:${port}`,
    '--debug-addr=-',
    '--telemetry=disable',
    `--state-dir=${folder}`,
    '--log-level=error',
  ];
}
