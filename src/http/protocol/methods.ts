import type { FastifyInstance, FastifyRequest } from 'fastify';
import { HoldfastError } from '../../errors.ts';

declare module 'fastify' {
  interface FastifyRequest {
    /** The route's path, as it was registered, whether or not it has the request's method; undefined where there is none. */
    readonly route: string | undefined;
  }
}

/** A path that has routes, and their methods. */
interface Path {
  pattern: RegExp;
  methods: Set<string>;
}

/**
 * Answers for the methods that a path has no route for: `OPTIONS` is 204 and any other is 405, both with `Allow`. What is
 * no path at all is 404. Gives each request its `route`. Holds for the routes that are registered after this call, and comes before the body is read.
 *
 * One hook for all of them: a route for each method of each path made a start longer by a tenth.
 */
export function useMethods(app: FastifyInstance): void {
  const paths = new Map<string, Path>();
  const find = (name: string) => [...paths].find(([, { pattern }]) => pattern.test(name));
  app.decorateRequest('route', {
    getter(this: FastifyRequest) {
      return this.routeOptions.url ?? find(pathIn(this.url))?.[0];
    },
  });
  app.addHook('onRoute', ({ url, method }) => {
    const path = paths.get(url) ?? { pattern: patternOf(url), methods: new Set() };
    for (const one of [method].flat()) path.methods.add(one);
    paths.set(url, path);
  });
  app.addHook('onRequest', async (request, reply) => {
    if (!request.is404) return undefined;
    const { method } = request;
    const name = pathIn(request.url);
    const path = find(name)?.[1];
    if (path === undefined) throw new HoldfastError('invalid', `no such path: ${name}`, { status: 404 });
    const allow = [...path.methods].sort().concat('OPTIONS').join(', ');
    reply.header('allow', allow);
    if (method === 'OPTIONS') return reply.code(204).send();
    throw new HoldfastError('invalid', `${method} is not allowed on this path; it takes ${allow}`, {
      status: 405,
    });
  });
}

function patternOf(url: string): RegExp {
  return new RegExp(`^${url.replaceAll('.', '\\.').replaceAll(/:\w+/g, '[^/]*')}$`);
}

/** The path of a request's target as the router reads it: without scheme and host, query and fragment, and decoded. */
function pathIn(url: string): string {
  const [path = ''] = url.replace(/^https?:\/\/[^/]*(?=\/)/i, '').split(/[?#]/);
  try {
    return decodeURI(path);
  } catch {
    return path;
  }
}
