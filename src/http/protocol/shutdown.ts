import type { FastifyInstance } from 'fastify';

/**
 * Lets a closing server come to its end: a reply that is sent from then on ends its connection, which clients would
 * otherwise keep for their next poll, and connections that are still open after `grace` milliseconds are cut.
 */
export function useShutdown(app: FastifyInstance, grace: number): void {
  let isClosing = false;
  app.addHook('preClose', async () => {
    isClosing = true;
    setTimeout(() => app.server.closeAllConnections(), grace).unref();
  });
  app.addHook('onSend', async (_request, reply) => {
    if (isClosing) reply.header('connection', 'close');
  });
}
