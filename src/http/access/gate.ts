import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify';
import type { Authenticator } from '../../accounts/authenticator.ts';
import { asDevice, authorize, type Principal } from '../../accounts/principal.ts';
import { DEVICE_HEADER } from '../../protocol/poll.ts';
import { RequestRefused } from '../request-refused.ts';
import { objectsOf, recordOf } from '../route-record.ts';

/** All paths below these need credentials, even if they lead to no route (docs/contract.md, 6.1). */
const GUARDED = /^\/(api|metrics)(\/|$)/;

const CHALLENGE = 'Basic realm="Holdfast", charset="UTF-8"';

declare module 'fastify' {
  interface FastifyRequest {
    /** Who sent the request; set for every route that needs credentials. */
    user: Principal;
  }
}

/**
 * Admits requests with the right credentials and permission. Requests from pages of other sites are refused, because
 * browsers remember Basic credentials and also send them with such requests.
 */
export function useGate(app: FastifyInstance, authenticator: Authenticator): void {
  app.decorateRequest('user', null as never);
  app.addHook('onRequest', async (request, reply) => {
    // Where there is a route, it says so itself, and no spelling of the target bypasses this check.
    if (request.is404 ? isGuarded(request.url) : recordOf(request).guarded)
      await checkAccess(request, reply, authenticator);
  });
}

/** Sets the user of a request. Rejects with the 401 or 403 of a request that is not admitted. */
export async function checkAccess(
  request: FastifyRequest,
  reply: FastifyReply,
  authenticator: Authenticator,
): Promise<void> {
  await admit(request, reply, authenticator);
  refuseOtherOrigins(request);
}

/**
 * Whether a target without a route needs credentials. Escapes, repeated slashes, and a scheme and host before the path
 * (RFC 9112, 3.2.2) make no difference. Targets that cannot be decoded also need credentials.
 */
function isGuarded(url: string): boolean {
  const [path = ''] = url.replace(/^[a-z][a-z0-9+.-]*:\/\/[^/?#]*/i, '').split(/[?#]/);
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
    throw new RequestRefused(401, 'credentials are missing or wrong', { access_allowed: false });
  }
  request.user = asDevice(user, request.headers[DEVICE_HEADER]?.toString());
  const { action } = recordOf(request);
  if (action !== 'public' && !authorize(request.user, action, objectsOf(request)))
    throw denied('this account is for devices');
}

/** Returns the 403 for right credentials without permission (docs/contract.md, 6.2). */
function denied(why: string): RequestRefused {
  return new RequestRefused(403, why, { access_allowed: false });
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
