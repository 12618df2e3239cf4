import type { FastifyInstance } from 'fastify';
import * as z from 'zod';
import type { Api } from '../api.ts';
import { commonErrors, json } from '../openapi/replies.ts';
import { route } from '../openapi/route.ts';

const Available = z.object({ api_available: z.boolean() }).meta({ id: 'Status' });

const tag = 'manager';
const Ok = z.object({ status: z.literal('ok') }).meta({ id: 'Ok' });
const NotReady = z.object({ status: z.literal('unavailable'), reason: z.string() }).meta({ id: 'NotReady' });

const statusRoute = route('GET', '/api/v2/status', {
  operationId: 'getStatus',
  action: 'poll',
  summary: 'Whether the API is available',
  tag,
  reply: [200, json('It is available.', Available)],
  errors: {
    ...commonErrors,
    503: json('The applied state cannot be read from the store, or no revision was ever applied.', Available),
  },
});
const healthRoute = route('GET', '/healthz', {
  operationId: 'getHealth',
  action: 'public',
  isProbe: true,
  summary: 'Liveness probe: whether the process runs',
  tag,
  reply: [200, json('It runs.', Ok)],
  errors: {},
});
const readyRoute = route('GET', '/readyz', {
  operationId: 'getReadiness',
  action: 'public',
  isProbe: true,
  summary: 'Readiness probe: whether the manager can serve devices',
  tag,
  reply: [200, json('It is ready.', Ok)],
  errors: { 503: json('It is not ready, and why.', NotReady) },
});

/** The status of the API, and the probes for liveness and readiness. */
export function statusRoutes(app: FastifyInstance, api: Api): void {
  const { store, reconciler } = api;
  const requireReadable = createReadableCheck(api);
  statusRoute(app, async (_request, reply) => {
    const isAvailable = await canServe(api, requireReadable);
    return reply.code(isAvailable ? 200 : 503).send({ api_available: isAvailable });
  });

  healthRoute(app, () => Promise.resolve({ status: 'ok' }));

  readyRoute(app, async (_request, reply) => {
    const state = await store.state().catch(() => null);
    if (state === null)
      return reply.code(503).send({ status: 'unavailable', reason: 'the store does not answer' });
    if (state.applied !== null) return { status: 'ok' };
    const reason = reconciler.status().error?.message ?? 'no revision has been applied yet';
    return reply.code(503).send({ status: 'unavailable', reason });
  });
}

/**
 * Resolves to whether devices can be served. A worker that starts reads this, stops all its containers if it is true, and
 * only then requests its apps, so it must not be true while those requests fail. A revision that was applied is served
 * even while the branch cannot be read. A branch without commits is an empty fleet, unless the store has ids of a fleet:
 * then the branch was lost.
 */
async function canServe({ store, reconciler }: Api, requireReadable: () => Promise<void>): Promise<boolean> {
  const { state, applied } = reconciler.status();
  try {
    await store.ping();
    if (applied !== null || (await store.state()).applied !== null) {
      await requireReadable();
      return true;
    }
    return state === 'applied' && (await store.counters(0)).length === 0;
  } catch {
    return false;
  }
}

/**
 * Returns a check that rejects if the applied objects or their ids cannot be read: a partly damaged store can report its
 * state, and can let a pass succeed, which reads no ids if nothing has changed. The check reads each only once, and the
 * objects not at all if a pass of this process has succeeded. Callers share a read that is under way: when a whole fleet of
 * workers starts, a slow store must not read everything for each.
 *
 * `/readyz` does without this check: probes come from the very start, and reading all objects beside the first pass would
 * double the time of a start.
 */
function createReadableCheck({ store, reconciler }: Api): () => Promise<void> {
  let hasRead = false;
  let running: Promise<void> | null = null;
  const read = async (): Promise<void> => {
    if (reconciler.status().applied === null) await store.appliedObjects();
    await store.counters(0);
    hasRead = true;
  };
  return async () => {
    if (hasRead) return;
    running ??= read().finally(() => {
      running = null;
    });
    await running;
  };
}
