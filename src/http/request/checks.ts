import type { FastifyInstance } from 'fastify';
import { passWithin } from '../../change/patience.ts';
import { existenceRefusal } from '../../change/preconditions.ts';
import type { Kind } from '../../desired/name.ts';
import type { Api } from '../api.ts';
import { bodyRefusal } from './body.ts';
import { nameIn } from './name.ts';
import { refuseUnready } from './readiness.ts';

/** The object that a route is about. */
export interface RouteObject {
  kind: Kind;
  /** Whether the route creates it. */
  isNew?: true;
}

declare module 'fastify' {
  interface FastifyContextConfig {
    object?: RouteObject;
  }
}

/**
 * Checks every request before its handler runs. The first check that fails is the reply, so this is the order in which
 * several errors are reported (decisions, "Everything else"):
 *
 * 1. 401, and 403 without permission: `access/gate.ts`, before the body is read;
 * 2. 404 and 405: `protocol/methods.ts`, likewise;
 * 3. 400 of a name;
 * 4. 503 while it is not known which objects there are;
 * 5. 403 of an object that does not exist, or exists already. A route without a body leaves that to the call that needs
 *    the object, which reports it first;
 * 6. 413 and 415, also where no body is read: a browser must not be able to send a form. Then the 400 of what the body
 *    says, which the handler throws (`fields.ts`) before it changes anything;
 * 7. 412, 409 and 503: from the writer (`draftOne` and `settleFor` in `change` keep their order) and from the store.
 */
export function useChecks(app: FastifyInstance, api: Api): void {
  app.addHook('preHandler', async (request, reply) => {
    const { config, schema } = request.routeOptions;
    const { object } = config;
    const refusal = bodyRefusal(request);
    // The rest of the body may still be on its way.
    if (refusal !== null) reply.header('connection', 'close');
    const name = object && nameIn(request, object.kind);
    await refuseUnready(request, api);
    const hasBody = schema?.body !== undefined || refusal !== null;
    if (object && name !== undefined && hasBody) await checkExistence(api, object, name);
    if (refusal !== null) throw refusal;
  });
}

/**
 * Throws the 403 of an object that is neither in the store nor in a file, or of a new one that is in the store. Before
 * that it runs a pass, as the writer does: a person may have committed a moment ago what the caller knows.
 */
export async function checkExistence(api: Api, object: RouteObject, name: string): Promise<void> {
  const { kind, isNew = false } = object;
  if ((await existenceRefusal(api, { kind, name }, isNew)) === null) return;
  await passWithin(api.patience, api.reconciler.reconcile());
  const refusal = await existenceRefusal(api, { kind, name }, isNew);
  if (refusal !== null) throw refusal;
}
