import { type ChildProcess, execFile, spawn } from 'node:child_process';
import { once } from 'node:events';
import { access, cp, mkdir, mkdtemp, rename, rm, writeFile } from 'node:fs/promises';
import { type AddressInfo, connect, createServer } from 'node:net';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import { promisify } from 'node:util';

const VERSION = 'v1.24.2';
const MODULE = 'github.com/FerretDB/FerretDB';
const CACHE = resolve('node_modules/.cache/ferretdb');
/** Milliseconds for the download and for the build together. */
const BUILD_LIMIT = 420_000;
/** Milliseconds from the start of the server until it listens. */
const START_LIMIT = 30_000;

const run = promisify(execFile);

/** A server that runs: its address, and how to end it for good. */
interface StandIn {
  uri: string;
  stop(): Promise<void>;
}

/** A server that can be killed and started again on what it had on its disk. */
export interface MortalStandIn extends StandIn {
  kill(): Promise<void>;
  revive(): Promise<void>;
}

/**
 * Starts FerretDB on a free port of this machine, built with Go where it is not in the cache yet. Where it cannot be
 * had, says so in one line and resolves to null.
 */
export async function startStandIn(): Promise<MortalStandIn | null> {
  let binary: string;
  try {
    binary = await build();
  } catch (error) {
    say(`no stand-in for MongoDB (${reasonOf(error)}); its tests are left out`);
    return null;
  }
  const server = await start(binary);
  say(`a stand-in for MongoDB listens at ${server.uri}: FerretDB ${VERSION} with its SQLite backend`);
  return server;
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

async function start(binary: string): Promise<MortalStandIn> {
  const folder = await mkdtemp(join(tmpdir(), 'holdfast-ferretdb-'));
  const port = await freePort();
  let child = launch(binary, folder, port);
  await listening(port);
  const kill = async (): Promise<void> => {
    if (child.exitCode !== null || child.signalCode !== null) return;
    const ended = once(child, 'exit');
    child.kill('SIGKILL');
    await ended;
  };
  return {
    uri: `mongodb://127.0.0.1:${port}/`,
    kill,
    revive: async () => {
      child = launch(binary, folder, port);
      await listening(port);
    },
    stop: async () => {
      await kill();
      await rm(folder, { recursive: true, force: true });
    },
  };
}

function launch(binary: string, folder: string, port: number): ChildProcess {
  const flags = [
    '--handler=sqlite',
    `--sqlite-url=file:${folder}/`,
    `--listen-addr=127.0.0.1:${port}`,
    '--debug-addr=-',
    '--telemetry=disable',
    `--state-dir=${folder}`,
    '--log-level=error',
  ];
  return spawn(binary, flags, { stdio: 'ignore' });
}

async function freePort(): Promise<number> {
  const server = createServer().listen(0, '127.0.0.1');
  await once(server, 'listening');
  const { port } = server.address() as AddressInfo;
  server.close();
  await once(server, 'close');
  return port;
}

async function listening(port: number): Promise<void> {
  const end = Date.now() + START_LIMIT;
  while (Date.now() < end) {
    const socket = connect(port, '127.0.0.1');
    const [event] = await Promise.race([
      once(socket, 'connect').then(() => ['connect']),
      once(socket, 'error').then(() => ['error']),
    ]).catch(() => ['error']);
    socket.destroy();
    if (event === 'connect') return;
    await new Promise((later) => setTimeout(later, 100));
  }
  throw new Error(`nothing listens on port ${port}`);
}

async function exists(path: string): Promise<boolean> {
  return access(path).then(
    () => true,
    () => false,
  );
}

function reasonOf(error: unknown): string {
  const text = error instanceof Error ? error.message : String(error);
  return text.split('\n')[0] ?? text;
}

function say(text: string): void {
  process.stdout.write(`${text}\n`);
}
