import type { FastifyInstance, FastifyRequest } from 'fastify';
import type { Kind } from '../desired/name.ts';
import { type Api, mustExist, mustNotExist, nameIn } from './api.ts';
import { bodyRefusal } from './body.ts';

/** The paths at which an object is created. */
const OBJECT_ROUTE = /\/:\w+$/;

/**
 * Refuses bodies that are too large or not JSON, for every route, also for those that read no body: a browser must not be
 * able to send a form. Names and existence are told before (decisions, "Everything else").
 */
export function useBodyRefusals(app: FastifyInstance, api: Api): void {
  app.addHook('preHandler', async (request, reply) => {
    const refusal = bodyRefusal(request);
    if (refusal === null) return;
    // The rest of the body may still be on its way.
    reply.header('connection', 'close');
    await refuseTarget(request, api);
    throw refusal;
  });
}

async function refuseTarget(request: FastifyRequest, api: Api): Promise<void> {
  const kind = kindIn(request);
  if (kind === null) return;
  const name = nameIn(request, kind);
  const isCreate = request.method === 'POST' && OBJECT_ROUTE.test(request.routeOptions.url ?? '');
  await (isCreate ? mustNotExist : mustExist)(api, kind, name);
}

function kindIn({ params }: FastifyRequest): Kind | null {
  const names = Object.keys(params as object);
  if (names.includes('app_name')) return 'app';
  return names.includes('device_group_name') ? 'device_group' : null;
}
