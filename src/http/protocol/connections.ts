import type { IncomingMessage, RequestListener, Server, ServerResponse } from 'node:http';
import type { Socket } from 'node:net';
import type { FastifyInstance } from 'fastify';

/** How many requests a client may send on one connection before the first of them is answered. */
export const MAX_UNANSWERED = 16;

/** A connection: how many of its requests are unanswered. */
interface Connection {
  unanswered: number;
  /** Called when a reply has been passed on to the system. */
  onAnswered(): void;
}

/**
 * Limits what a client makes the server keep in memory. Node reads requests from a connection long before it has sent the
 * replies to earlier ones, so a client that pipelines thousands and reads no reply would fill the memory. A connection
 * ends if more than `MAX_UNANSWERED` of its requests are unanswered, and if no byte of a reply is taken for as long as
 * fastify's `connectionTimeout`, which must be set. Without a request, it is idle, and ends as without these limits.
 *
 * Call it after everything that answers requests. `onConnections` gets the number of open connections whenever one is
 * opened or closed.
 */
export function limitConnections(
  { server }: FastifyInstance,
  onConnections: (open: number) => void = () => undefined,
): void {
  const connections = new WeakMap<Socket, Connection>();
  let open = 0;
  server.on('connection', (socket: Socket) => {
    open += 1;
    onConnections(open);
    socket.once('close', () => {
      open -= 1;
      onConnections(open);
    });
    const connection: Connection = {
      unanswered: 0,
      onAnswered: () => {
        connection.unanswered -= 1;
      },
    };
    connections.set(socket, connection);
  });
  interceptRequests(server, ({ socket }, response) => {
    const connection = connections.get(socket);
    // Node passes on all that it has read, even after the connection was ended.
    if (connection === undefined || socket.destroyed) return true;
    if (connection.unanswered === MAX_UNANSWERED) {
      socket.destroy();
      return true;
    }
    connection.unanswered += 1;
    response.on('finish', connection.onAnswered);
    return false;
  });
  // Node ends a connection at a timeout only if there is no listener.
  server.on('timeout', (socket: Socket) => {
    const isBeingAnswered = (connections.get(socket)?.unanswered ?? 0) > 0 && socket.writableLength === 0;
    if (!isBeingAnswered) socket.destroy();
  });
}

/** Has a function see each request before all who listen now; they get those for which it returns false. */
export function interceptRequests(
  server: Server,
  takes: (request: IncomingMessage, response: ServerResponse) => boolean,
): void {
  const listeners = server.listeners('request') as RequestListener[];
  server.removeAllListeners('request');
  server.on('request', (request, response) => {
    if (takes(request, response)) return;
    for (const listener of listeners) listener.call(server, request, response);
  });
}
