import { once } from 'node:events';
import { type AddressInfo, connect, type Server, type Socket } from 'node:net';
import { promisify } from 'node:util';
import Fastify, { type FastifyInstance } from 'fastify';
import { describe, expect, it, onTestFinished } from 'vitest';
import { limitConnections, MAX_UNANSWERED } from '../../../src/http/protocol/connections.ts';

/** More than the system buffers for a client that does not read. */
const LONG_REPLY = Buffer.alloc(16 * 1024 * 1024, 'x');

/**
 * Starts a server with the limits, and this time without progress of a reply, in milliseconds. Resolves to a function that
 * connects to it.
 */
async function startServer(
  addRoutes: (app: FastifyInstance) => void,
  patience = 60_000,
): Promise<() => Promise<Socket>> {
  const app = Fastify({ connectionTimeout: patience });
  addRoutes(app);
  limitConnections(app);
  await app.listen({ host: '127.0.0.1', port: 0 });
  onTestFinished(() => app.close());
  return async () => {
    const socket = connect((app.server.address() as AddressInfo).port, '127.0.0.1');
    onTestFinished(() => void socket.destroy());
    // A connection that is cut can be reset.
    socket.on('error', () => undefined);
    await once(socket, 'connect');
    return socket;
  };
}

async function connectionsOf(server: Server | undefined): Promise<number | undefined> {
  return server && promisify(server.getConnections.bind(server))();
}

function requests(count: number, path = '/'): string {
  return `GET ${path} HTTP/1.1\r\nHost: a\r\n\r\n`.repeat(count);
}

/** Resolves to all that the server sends before it closes the connection. */
async function readAll(socket: Socket): Promise<string> {
  let text = '';
  socket.setEncoding('utf8').on('data', (chunk: string) => {
    text += chunk;
  });
  await once(socket, 'close');
  return text;
}

/** Reads until this many replies have come. */
async function readReplies(socket: Socket, count: number): Promise<void> {
  let text = '';
  for await (const chunk of socket.iterator({ destroyOnReturn: false })) {
    text += chunk;
    if (text.split('HTTP/1.1 200').length > count) return;
  }
  throw new Error(`the connection was closed after ${text}`);
}

describe('limitConnections', () => {
  it('answers as many requests at once on a connection as the limit, again and again', async () => {
    const open = await startServer((app) => app.get('/', async () => 'fine'));
    const socket = await open();
    for (let round = 0; round < 3; round++) {
      socket.write(requests(MAX_UNANSWERED));
      await readReplies(socket, MAX_UNANSWERED);
    }
  });

  it('ends a connection at the first unanswered request above the limit, even if the client reads', async () => {
    let handled = 0;
    const open = await startServer((app) =>
      app.get('/', async () => {
        handled += 1;
        return 'fine';
      }),
    );
    const socket = await open();
    socket.write(requests(1200));
    await readAll(socket);
    expect(handled).toBe(MAX_UNANSWERED);
  });

  it('counts requests that came one by one while the first is still being answered', async () => {
    const open = await startServer((app) => app.get('/', () => new Promise(() => undefined)));
    const socket = await open();
    for (let sent = 0; sent < MAX_UNANSWERED; sent++) socket.write(requests(1));
    const other = await open();
    other.write(requests(1));
    socket.write(requests(1));
    expect(await readAll(socket)).toBe('');
    expect(other.closed, 'a connection with one unanswered request').toBe(false);
  });

  it('ends a connection whose reply the client has stopped to take', async () => {
    let server: Server | undefined;
    const open = await startServer((app) => {
      server = app.server;
      app.get('/', async () => LONG_REPLY);
    }, 50);
    const socket = await open();
    socket.write(requests(1));
    await once(socket, 'readable');
    await expect.poll(() => connectionsOf(server)).toBe(0);
  });

  it('waits for a handler that takes longer than a client has to take a reply', async () => {
    const open = await startServer((app) => {
      app.get('/', async () => {
        await once(app.server, 'timeout');
        return 'late';
      });
    }, 50);
    const socket = await open();
    socket.write(requests(1));
    await readReplies(socket, 1);
  });
});
