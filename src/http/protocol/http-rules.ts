import type { FastifyInstance } from 'fastify';
import { RequestRefused } from '../request-refused.ts';

/**
 * Refuses what HTTP/1.1 does not allow: a request without exactly one `Host` (RFC 9112, 3.2), or with an unknown
 * expectation (RFC 9110, 10.1.1). Node can do this itself, but with an empty body. Its `requireHostHeader` must be off.
 * Also makes Node keep all headers of a request.
 */
export function useProtocolRules(app: FastifyInstance): void {
  const { server } = app;
  // Otherwise Node drops headers after the two thousandth, which can be an If-Match. Their size is limited anyway.
  server.maxHeadersCount = 0;
  const unknownExpectations = new WeakSet<object>();
  server.on('checkExpectation', (request, response) => {
    unknownExpectations.add(request);
    server.emit('request', request, response);
  });
  app.addHook('onRequest', async ({ raw }, reply) => {
    const hosts = raw.headersDistinct['host']?.length ?? 0;
    if (hosts > 1 || (hosts === 0 && raw.httpVersion === '1.1')) {
      reply.header('connection', 'close');
      throw new RequestRefused(400, 'send exactly one Host header');
    }
    if (!unknownExpectations.has(raw)) return;
    throw new RequestRefused(417, 'only Expect: 100-continue is supported');
  });
}
