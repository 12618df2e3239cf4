import type { FastifyInstance } from 'fastify';
import type { Api } from '../api.ts';
import { commonErrors, plainText } from '../openapi/replies.ts';
import { route } from '../openapi/route.ts';

const metricsRoute = route('GET', '/metrics', {
  operationId: 'getMetrics',
  action: 'read',
  summary: 'Metrics of the process, the passes and the requests, in the Prometheus text format',
  tag: 'manager',
  reply: [200, plainText('The metrics.')],
  errors: commonErrors,
});

/** The metrics. They reveal which requests the manager gets, so they need credentials. Also counts all requests. */
export function metricsRoutes(app: FastifyInstance, { metrics }: Api): void {
  metricsRoute(app, async (_request, reply) => {
    const { type, text } = await metrics.render();
    return reply
      .type(type)
      .serializer((payload: unknown) => payload as string)
      .send(text);
  });
  app.addHook('onResponse', async (request, reply) => {
    metrics.countRequest(request.method, request.route ?? 'none', reply.statusCode);
  });
}
