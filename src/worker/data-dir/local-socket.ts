import { chmod, rm } from 'node:fs/promises';
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import { join } from 'node:path';
import { HoldfastError, messageOf } from '../../errors.ts';
import { closeServer, listen } from '../http.ts';
import { type Answer, askSocket } from './local-request.ts';

/** What a running worker does for the commands of people at the device. */
export interface LocalCommands {
  /** Returns the state of the device, for JSON. */
  status(): unknown;
  /** Tries a version again that was taken back, or that waits. Resolves to false if there is no such app. */
  retry(app: string): boolean | Promise<boolean>;
  /** Forgets the ids of the manager, which was set up again. */
  forgetIds(): void | Promise<void>;
}

/** The socket of a running worker. It is also the lock of DATA_DIR. */
export interface LocalSocket {
  /** Answers commands from now on; until then the answer is that the worker is starting. */
  serve(commands: LocalCommands): void;
  close(): Promise<void>;
}

export const SOCKET = 'worker.sock';
/** Bytes that the system takes for the path of a socket. */
const LONGEST_PATH = 107;

/**
 * Opens the socket in a folder. Rejects as `present` if another worker has it, with its process id. The socket of a
 * killed worker is replaced. Rejects as `invalid` if the path is too long for a socket, and with the error of the system if there can be no socket in the folder.
 */
export async function openLocalSocket(folder: string): Promise<LocalSocket> {
  const path = join(folder, SOCKET);
  if (Buffer.byteLength(path) > LONGEST_PATH)
    throw new HoldfastError(
      'invalid',
      `the path of the socket is longer than ${LONGEST_PATH} bytes: ${path}; set DATA_DIR to a shorter path`,
    );
  return (await openAt(path)) ?? (await replaceStale(folder));
}

async function replaceStale(folder: string): Promise<LocalSocket> {
  const path = join(folder, SOCKET);
  const reply = await askSocket(path, { method: 'GET', path: '/' });
  if (reply !== null) throw new HoldfastError('present', inUse(folder, pidOf(reply)));
  await rm(path, { force: true });
  const socket = await openAt(path);
  if (socket === null) throw new HoldfastError('present', inUse(folder, null));
  return socket;
}

/** Resolves to null if something has the name. */
async function openAt(path: string): Promise<LocalSocket | null> {
  let commands: LocalCommands | null = null;
  const server = createServer((request, response) => void answer(request, response, commands));
  try {
    await listen(server, { path });
    await chmod(path, 0o600);
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'EADDRINUSE') return null;
    server.close();
    throw error;
  }
  return {
    serve: (given) => {
      commands = given;
    },
    close: () => closeServer(server),
  };
}

function pidOf({ body }: Answer): number | null {
  const { pid } = (body ?? {}) as { pid?: unknown };
  return typeof pid === 'number' ? pid : null;
}

function inUse(folder: string, pid: number | null): string {
  const process = pid === null ? '' : ` (process ${pid})`;
  return `another worker${process} uses ${folder}; stop it, or set DATA_DIR to another folder`;
}

async function answer(
  request: IncomingMessage,
  response: ServerResponse,
  commands: LocalCommands | null,
): Promise<void> {
  const { status, body } = await replyTo(request, commands).catch((error: unknown) => ({
    status: 500,
    body: { error: messageOf(error) },
  }));
  response.writeHead(status, { 'content-type': 'application/json', connection: 'close' });
  response.end(JSON.stringify(body));
}

async function replyTo(
  { method, url = '/' }: IncomingMessage,
  commands: LocalCommands | null,
): Promise<Answer> {
  const { pathname, searchParams } = new URL(url, 'http://worker');
  const operation = `${method} ${pathname}`;
  if (operation === 'GET /') return { status: 200, body: { pid: process.pid } };
  if (commands === null) return { status: 503, body: { error: 'the worker is starting' } };
  if (operation === 'GET /status') return { status: 200, body: commands.status() };
  if (operation === 'POST /retry') {
    const app = searchParams.get('app') ?? '';
    const isKnown = await commands.retry(app);
    return isKnown
      ? { status: 200, body: {} }
      : { status: 404, body: { error: `this device has no app "${app}"` } };
  }
  if (operation === 'POST /forget-ids') {
    await commands.forgetIds();
    return { status: 200, body: {} };
  }
  return { status: 404, body: { error: `there is no ${operation}` } };
}
