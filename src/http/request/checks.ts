import type { FastifyInstance } from 'fastify';
import { existenceError } from '../../change/preconditions.ts';
import { passWithin } from '../../change/wait-limit.ts';
import type { Api } from '../api.ts';
import { type RouteObject, recordOf } from '../route-record.ts';
import { bodyRefusal } from './body.ts';
import { nameIn } from './name.ts';
import { badParameters } from './query.ts';
import { refuseUnready } from './readiness.ts';

/**
 * Checks every request before its handler runs. The first check that fails determines the reply, so errors take
 * precedence in this order (docs/contract.md, 5.6):
 *
 * 1. 401, and 403 without permission: `access/gate.ts`, before the body is read;
 * 2. 404 and 405: `protocol/methods.ts`, also before the body is read;
 * 3. 400 for an invalid name;
 * 4. 503 while the manager does not know which objects exist;
 * 5. 403 for an object that does not exist, or already exists. In a route without a body, the first call that needs the
 *    object reports this;
 * 6. 413 and 415, even if the route reads no body, so that a browser cannot send a form. Then 400 for a parameter in the
 *    query of a write, and for the content of the body, which the handler throws (`fields.ts`) before it changes anything;
 * 7. 412, 409 and 503: from the writer (`draftOne` and `settleFor` in `change` keep this order) and from the store.
 */
export function useChecks(app: FastifyInstance, api: Api): void {
  app.addHook('preHandler', async (request, reply) => {
    const { schema } = request.routeOptions;
    const { object } = recordOf(request);
    const refusal = bodyRefusal(request);
    // The rest of the body may still be arriving. Without the connection, it need not be read.
    if (refusal !== null) reply.header('connection', 'close');
    const name = object && nameIn(request, object.kind);
    await refuseUnready(request, api);
    const bad = badParameters(request);
    const checksExistence = schema?.body !== undefined || refusal !== null || bad !== null;
    if (object && name !== undefined && checksExistence) await checkExistence(api, object, name);
    if (refusal !== null) throw refusal;
    if (bad !== null) throw bad;
  });
}

/**
 * Rejects with a 403 if the object is neither in the store nor in a file, or if a new object is already in the store. As
 * in the writer, a pass runs before an object is refused, since the client may know of a commit made a moment ago.
 */
export async function checkExistence(api: Api, object: RouteObject, name: string): Promise<void> {
  const { kind, isCreated = false } = object;
  if ((await existenceError(api, { kind, name }, isCreated)) === null) return;
  await passWithin(api.waitLimit, api.reconciler.reconcile());
  const refusal = await existenceError(api, { kind, name }, isCreated);
  if (refusal !== null) throw refusal;
}
