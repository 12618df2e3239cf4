import type { FastifyInstance } from 'fastify';
import { z } from 'zod';
import type { Api } from '../api.ts';
import { commonErrors, documented } from '../replies.ts';

const docs = documented({
  summary: 'Figures of the process, the passes and the requests, in the text format of Prometheus',
  tag: 'manager',
  reply: [200, z.string()],
  errors: commonErrors,
});

/** Figures for monitoring; they tell of paths and names, so they need credentials. */
export function metricsRoutes(app: FastifyInstance, { metrics }: Api): void {
  app.get('/metrics', docs, async (_request, reply) => {
    const { type, text } = await metrics.render();
    return reply
      .type(type)
      .serializer((payload: unknown) => payload as string)
      .send(text);
  });
  app.addHook('onResponse', async (request, reply) => {
    metrics.countRequest(request.method, request.routeOptions.url ?? 'none', reply.statusCode);
  });
}
