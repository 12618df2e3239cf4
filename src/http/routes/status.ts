import type { FastifyInstance } from 'fastify';
import * as z from 'zod';
import type { Api } from '../api.ts';
import { documented } from '../openapi/documented.ts';
import { commonErrors, json } from '../openapi/replies.ts';

const Available = z.object({ api_available: z.boolean() }).meta({ id: 'Status' });

const tag = 'manager';
const Ok = z.object({ status: z.literal('ok') }).meta({ id: 'Ok' });
const NotReady = z.object({ status: z.literal('unavailable'), reason: z.string() }).meta({ id: 'NotReady' });

const statusDocs = documented({
  operationId: 'getStatus',
  summary: 'Whether the API can be used',
  tag,
  isForDevices: true,
  reply: [200, json('It can be used.', Available)],
  errors: {
    ...commonErrors,
    503: json('The store cannot be reached, or no revision was ever applied.', Available),
  },
});
const healthDocs = documented({
  operationId: 'getHealth',
  summary: 'Whether the process lives',
  tag,
  isPublic: true,
  reply: [200, json('It lives.', Ok)],
  errors: {},
});
const readyDocs = documented({
  operationId: 'getReadiness',
  summary: 'Whether it can serve devices',
  tag,
  isPublic: true,
  reply: [200, json('It can.', Ok)],
  errors: { 503: json('It cannot, for a reason.', NotReady) },
});

/** Whether the manager can be used, for people and for probes. */
export function statusRoutes(app: FastifyInstance, api: Api): void {
  const { store, reconciler } = api;
  app.get('/api/v2/status', statusDocs, async (_request, reply) => {
    const isAvailable = await canServe(api);
    return reply.code(isAvailable ? 200 : 503).send({ api_available: isAvailable });
  });

  app.get('/healthz', healthDocs, () => Promise.resolve({ status: 'ok' }));

  app.get('/readyz', readyDocs, async (_request, reply) => {
    try {
      if ((await store.state()).applied !== null) return { status: 'ok' };
    } catch {
      return reply.code(503).send({ status: 'unavailable', reason: 'the store does not answer' });
    }
    const reason = reconciler.status().error?.message ?? 'no revision was applied yet';
    return reply.code(503).send({ status: 'unavailable', reason });
  });
}

/**
 * A worker that starts asks for this, stops all containers where it is true, and then asks for its apps: while those are
 * refused, it must not be true. What was applied once is served, also while the branch cannot be read. A branch without a
 * commit is an empty fleet, but not where ids of a fleet are left: it was lost then.
 */
async function canServe({ store, reconciler }: Api): Promise<boolean> {
  const { state, applied } = reconciler.status();
  try {
    await store.ping();
    if (applied !== null || (await store.state()).applied !== null) return true;
    return state === 'applied' && (await store.counters(0)).length === 0;
  } catch {
    return false;
  }
}
