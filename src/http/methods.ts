import { METHODS as HTTP_METHODS } from 'node:http';
import type { FastifyInstance, HTTPMethods } from 'fastify';
import { HoldfastError } from '../errors.ts';

const METHODS = ['GET', 'HEAD', 'POST', 'PUT', 'PATCH', 'DELETE'];
/** Node's other methods, which no path takes. `CONNECT` is left out: Node never hands it over as a request. */
const FOREIGN = HTTP_METHODS.filter((method) => ![...METHODS, 'OPTIONS', 'CONNECT'].includes(method));

/**
 * Completes every path that is registered after this call: `OPTIONS` is 204 with `Allow`, methods that the path does
 * not have are 405 with `Allow`. Returns a function to call when all routes are there.
 */
export function completeMethods(app: FastifyInstance): () => void {
  for (const method of FOREIGN) app.addHttpMethod(method, { overrideExisting: true });
  const allowed = new Map<string, Set<string>>();
  app.addHook('onRoute', ({ url, method }) => {
    const methods = allowed.get(url) ?? new Set();
    for (const one of [method].flat()) methods.add(one);
    allowed.set(url, methods);
  });
  return () => {
    for (const [url, methods] of [...allowed]) completePath(app, url, [...methods].sort());
  };
}

function completePath(app: FastifyInstance, url: string, methods: string[]): void {
  const allow = [...methods, 'OPTIONS'].join(', ');
  const hidden = { schema: { hide: true } } as object;
  app.route({
    method: 'OPTIONS',
    url,
    ...hidden,
    handler: (_request, reply) => reply.header('allow', allow).code(204).send(),
  });
  const others = [...METHODS, ...FOREIGN].filter((method) => !methods.includes(method));
  app.route({
    method: others as HTTPMethods[],
    url,
    exposeHeadRoute: false,
    ...hidden,
    // Before the body is read: a 405 comes before whatever is wrong with that.
    onRequest: async (request, reply) => {
      reply.header('allow', allow);
      throw new HoldfastError('invalid', `${request.method} is not for this path; it takes ${allow}`, {
        status: 405,
      });
    },
    handler: (_request, reply) => reply,
  });
}
