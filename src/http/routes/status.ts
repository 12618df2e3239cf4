import type { FastifyInstance } from 'fastify';
import * as z from 'zod';
import type { Api } from '../api.ts';
import { commonErrors, documented, json } from '../replies.ts';

const Available = z.object({ api_available: z.boolean() }).meta({ id: 'Status' });

const tag = 'manager';
const Ok = z.object({ status: z.literal('ok') }).meta({ id: 'Ok' });
const NotReady = z.object({ status: z.literal('unavailable'), reason: z.string() }).meta({ id: 'NotReady' });

const statusDocs = documented({
  operationId: 'getStatus',
  summary: 'Whether the API can be used',
  tag,
  reply: [200, json('It can be used.', Available)],
  errors: { ...commonErrors, 503: json('The store cannot be reached.', Available) },
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
export function statusRoutes(app: FastifyInstance, { store, reconciler }: Api): void {
  app.get('/api/v2/status', statusDocs, async (_request, reply) => {
    const isAvailable = await answers(store.ping());
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

async function answers(call: Promise<void>): Promise<boolean> {
  try {
    await call;
    return true;
  } catch {
    return false;
  }
}
