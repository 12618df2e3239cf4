import type { FastifyInstance, FastifyReply, FastifyRequest, HTTPMethods } from 'fastify';
import { HoldfastError } from '../../errors.ts';

const METHODS = ['GET', 'HEAD', 'POST', 'PUT', 'PATCH', 'DELETE'];

/**
 * Completes every path that is registered after this call: `OPTIONS` is 204 with `Allow`, methods that the path does
 * not have are 405 with `Allow`; what is no path is 404. Returns a function to call when all routes are there.
 */
export function completeMethods(app: FastifyInstance): () => void {
  const allowed = new Map<string, Set<string>>();
  app.addHook('onRoute', ({ url, method }) => {
    const methods = allowed.get(url) ?? new Set();
    for (const one of [method].flat()) methods.add(one);
    allowed.set(url, methods);
  });
  const paths: Path[] = [];
  refuseUnknown(app, paths);
  return () => {
    for (const [url, methods] of [...allowed]) {
      const path = { pattern: patternOf(url), allow: [...methods].sort().concat('OPTIONS').join(', ') };
      paths.push(path);
      completePath(app, url, methods, path.allow);
    }
  };
}

/** A path that there is, and what it tells of its methods. */
interface Path {
  pattern: RegExp;
  allow: string;
}

function patternOf(url: string): RegExp {
  return new RegExp(`^${url.replaceAll('.', '\\.').replaceAll(/:\w+/g, '[^/]*')}$`);
}

/** The path of a request's target as the router reads it: without scheme and host, query and fragment, and decoded. */
function pathIn(url: string): string {
  const [path = ''] = url.replace(/^https?:\/\/[^/]*(?=\/)/, '').split(/[?#]/);
  try {
    return decodeURI(path);
  } catch {
    return path;
  }
}

/**
 * Runs before the body is read: a 404 and a 405 come before whatever is wrong with that. The methods of others, such as
 * `PROPFIND`, have no routes: they are many, and a route for each of them on each path made a start longer by a tenth.
 */
function refuseUnknown(app: FastifyInstance, paths: readonly Path[]): void {
  app.addHook('onRequest', async (request, reply) => {
    if (!request.is404) return;
    const name = pathIn(request.url);
    const path = paths.find(({ pattern }) => pattern.test(name));
    if (path !== undefined) throw notAllowed(request, reply, path.allow);
    throw new HoldfastError('invalid', `there is nothing at ${name}`, { status: 404 });
  });
}

function notAllowed({ method }: FastifyRequest, reply: FastifyReply, allow: string): HoldfastError {
  reply.header('allow', allow);
  return new HoldfastError('invalid', `${method} is not for this path; it takes ${allow}`, { status: 405 });
}

function completePath(app: FastifyInstance, url: string, methods: ReadonlySet<string>, allow: string): void {
  const hidden = { schema: { hide: true } } as object;
  app.route({
    method: 'OPTIONS',
    url,
    ...hidden,
    handler: (_request, reply) => reply.header('allow', allow).code(204).send(),
  });
  app.route({
    method: METHODS.filter((method) => !methods.has(method)) as HTTPMethods[],
    url,
    exposeHeadRoute: false,
    ...hidden,
    // Before the body is read: a 405 comes before whatever is wrong with that.
    onRequest: async (request, reply) => {
      throw notAllowed(request, reply, allow);
    },
    handler: (_request, reply) => reply,
  });
}
