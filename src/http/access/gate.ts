import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify';
import { HoldfastError } from '../../errors.ts';
import type { Authenticator, User } from './authentication.ts';

/** Everything below these paths needs credentials, also what is not there (decisions, "Everything else"). */
const GUARDED = /^\/(api|metrics)(\/|\?|$)/;

const CHALLENGE = 'Basic realm="Holdfast", charset="UTF-8"';

declare module 'fastify' {
  interface FastifyRequest {
    /** Who sent the request; set for every route that needs credentials. */
    user: User;
  }
  /** What a route says of itself beside its schema. */
  interface FastifyContextConfig {
    /** Whether devices ask for it. */
    isForDevices?: true;
  }
}

/** Lets in whom the authenticator knows, and no page of another site: browsers keep Basic credentials. */
export function useGate(app: FastifyInstance, authenticator: Authenticator): void {
  app.decorateRequest('user', null as never);
  app.addHook('onRequest', async (request, reply) => {
    // A route is known by what it is registered as, so no spelling of a target leads around the gate.
    const { url: route } = request.routeOptions;
    if (route === undefined ? isGuarded(request.url) : GUARDED.test(route))
      await passGate(request, reply, authenticator);
  });
}

/** Tells who sent a request, and throws the 401 or 403 of one that is not let in. */
export async function passGate(
  request: FastifyRequest,
  reply: FastifyReply,
  authenticator: Authenticator,
): Promise<void> {
  await admit(request, reply, authenticator);
  refuseOtherOrigins(request);
}

/**
 * Whether a target that is no route lies where credentials come first: neither escapes, nor slashes, nor a scheme and
 * host before the path (RFC 9112, 3.2.2) make it another place. What cannot be decoded is guarded too.
 */
function isGuarded(url: string): boolean {
  const path = url.replace(/^[a-z][a-z0-9+.-]*:\/\/[^/?#]*/i, '').split('?')[0] ?? '';
  try {
    return GUARDED.test(decodeURIComponent(path).replace(/^\/+/, '/'));
  } catch {
    return true;
  }
}

async function admit(
  request: FastifyRequest,
  reply: FastifyReply,
  authenticator: Authenticator,
): Promise<void> {
  const user = await authenticator.authenticate(request.headers.authorization);
  if (user === null) {
    reply.header('www-authenticate', CHALLENGE);
    throw new HoldfastError('invalid', 'credentials are missing or wrong', {
      status: 401,
      access_allowed: false,
    });
  }
  request.user = user;
  if (user.isDevice && !request.routeOptions.config.isForDevices) throw denied('this account is for devices');
}

/** Right credentials, no permission (decisions, "Authentication"). */
function denied(why: string): HoldfastError {
  return new HoldfastError('invalid', why, { status: 403, access_allowed: false });
}

function refuseOtherOrigins({ headers }: FastifyRequest): void {
  const { origin, host } = headers;
  if (origin === undefined || hostOf(origin) === host) return;
  throw denied('the request comes from a page of another site');
}

function hostOf(origin: string): string | null {
  try {
    return new URL(origin).host;
  } catch {
    return null;
  }
}
