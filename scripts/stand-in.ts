import { execFile } from 'node:child_process';
import { cp, mkdir, mkdtemp, rename, rm, writeFile } from 'node:fs/promises';
import { join, resolve } from 'node:path';
import { promisify } from 'node:util';
import { exists, type MortalServer, startLocalServer, startOrReport } from './local-server.ts';

const VERSION = 'v1.24.2';
const MODULE = 'github.com/FerretDB/FerretDB';
const CACHE = resolve('node_modules/.cache/ferretdb');
/** Time limit of the download and the build together, in milliseconds. */
const BUILD_LIMIT = 420_000;

const run = promisify(execFile);

/**
 * Starts FerretDB on a free port of the loopback. The first run builds it with Go. If it cannot be started, prints one
 * line and resolves to null.
 */
export function startStandIn(): Promise<MortalServer | null> {
  return startOrReport(`FerretDB ${VERSION} with its SQLite backend`, async () => {
    const binary = await build();
    return startLocalServer((port, folder) => [binary, ...flags(port, folder)]);
  });
}

/**
 * Builds FerretDB, unless it is in the cache. `go install` does not work for this version, because its module lacks the
 * file with the version's name, which the program embeds. So a copy of the module gets that file and is built.
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
    const buildArgs = ['build', '-buildvcs=false', '-o', join(work, 'ferretdb'), './cmd/ferretdb'];
    await run('go', buildArgs, { ...options, cwd: join(work, 'module') });
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
