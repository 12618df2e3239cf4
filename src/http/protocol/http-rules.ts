import type { FastifyInstance } from 'fastify';
import { RequestRefused } from '../request-refused.ts';

/**
 * Refuses a request without exactly one `Host` (RFC 9112, 3.2); Node's `requireHostHeader`, which accepts two, must be
 * off. Also makes Node keep all headers of a request.
 */
export function useProtocolRules(app: FastifyInstance): void {
  // Otherwise Node drops headers after the two thousandth, which can be an If-Match. Their size is limited anyway.
  app.server.maxHeadersCount = 0;
  app.addHook('onRequest', async ({ raw }, reply) => {
    const hosts = raw.headersDistinct['host']?.length ?? 0;
    if (hosts === 1 || (hosts === 0 && raw.httpVersion !== '1.1')) return;
    reply.header('connection', 'close');
    throw new RequestRefused(400, 'send exactly one Host header');
  });
}
