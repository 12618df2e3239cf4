import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { access, mkdtemp, rm } from 'node:fs/promises';
import { type AddressInfo, connect, createServer } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

/** Milliseconds from the start of a server until it listens. */
const START_LIMIT = 30_000;

/** A running server. */
export interface RunningServer {
  uri: string;
  /** Ends the server and deletes its data. */
  stop(): Promise<void>;
}

/** A server that can be killed, and started again with the data that it had on disk. */
export interface MortalServer extends RunningServer {
  kill(): Promise<void>;
  revive(): Promise<void>;
}

/** Returns the command that starts a server on this port of the loopback, with its data in this folder. */
type CommandLine = (port: number, folder: string) => readonly [command: string, ...args: string[]];

/** Starts a server on a free port, with its data in a temporary folder. Rejects if it does not listen in time. */
export async function startLocalServer(commandLine: CommandLine): Promise<MortalServer> {
  const folder = await mkdtemp(join(tmpdir(), 'holdfast-stand-in-'));
  const port = await freePort();
  const launch = (): ChildProcess => {
    const [command, ...args] = commandLine(port, folder);
    return spawn(command, args, { stdio: 'ignore' });
  };
  let child = launch();
  const kill = async (): Promise<void> => {
    if (child.exitCode !== null || child.signalCode !== null) return;
    const ended = once(child, 'exit');
    child.kill('SIGKILL');
    await ended;
  };
  const stop = async (): Promise<void> => {
    await kill();
    await rm(folder, { recursive: true, force: true });
  };
  const revive = async (): Promise<void> => {
    child = launch();
    await listening(port);
  };
  await listening(port).catch(async (error: unknown) => {
    await stop();
    throw error;
  });
  return { uri: `mongodb://127.0.0.1:${port}/`, kill, revive, stop };
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

/** Reports whether there is a file or folder at the path. */
export function exists(path: string): Promise<boolean> {
  return access(path).then(
    () => true,
    () => false,
  );
}

/** Starts a server and prints its address. If that fails, prints the reason in one line and resolves to null. */
export async function startOrReport<S extends RunningServer>(
  name: string,
  start: () => Promise<S>,
): Promise<S | null> {
  try {
    const server = await start();
    process.stdout.write(`a stand-in for MongoDB listens at ${server.uri}: ${name}\n`);
    return server;
  } catch (error) {
    const text = error instanceof Error ? error.message : String(error);
    process.stdout.write(
      `no stand-in for MongoDB: ${name} (${text.split('\n')[0]}); its tests are left out\n`,
    );
    return null;
  }
}
