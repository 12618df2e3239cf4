import { isIP } from 'node:net';
import type { FastifyInstance, FastifyReply } from 'fastify';
import { recordOf } from '../route-record.ts';

/** Returns whether requests with this `Host` header are served. */
export type ServesHost = (host: string | undefined) => boolean;

const REFUSAL =
  'This host name is not served while authentication is off. Use an IP address or localhost, or add the name to ALLOWED_HOSTS.\n';

/**
 * Returns the check for a server without authentication: it is served at IP addresses, localhost and these names.
 *
 * A page of another site can have its own name resolve to this server's address (DNS rebinding); to a browser both are then
 * the same site, and only the name in `Host` tells that they are not. A request without `Host` is from no browser.
 */
export function onlyHosts(names: readonly string[]): ServesHost {
  const served = new Set(['localhost', ...names.map((name) => name.toLowerCase())]);
  return (host) => {
    if (host === undefined) return true;
    const name = host.replace(/:\d*$/, '').toLowerCase();
    return isIP(name) === 4 || isIP(/^\[(.*)\]$/.exec(name)?.[1] ?? '') === 6 || served.has(name);
  };
}

/** Answers requests with another host before anything else about them is checked; those of probes, which learn nothing, are served. */
export function useHosts(app: FastifyInstance, servesHost: ServesHost): void {
  app.addHook('onRequest', async (request, reply) => {
    if (servesHost(request.headers.host) || recordOf(request).isProbe) return undefined;
    return refuseHost(reply);
  });
}

/** Sends the 421 as plain text, because workers stop their containers on JSON without `apps`. */
export function refuseHost(reply: FastifyReply): FastifyReply {
  return reply.code(421).type('text/plain; charset=utf-8').send(REFUSAL);
}
