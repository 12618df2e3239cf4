import type { FastifyInstance } from 'fastify';

/**
 * Makes sure that a closing server ends. Clients keep their connections for the next poll, so each reply that is sent
 * while the server closes ends its connection, and those still open after `grace` milliseconds are cut.
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
