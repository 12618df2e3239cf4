import type { FastifyInstance, FastifyRequest } from 'fastify';
import { INFO_ROUTE } from './routes/info.ts';

/** Logs every request after its reply has been sent: routine ones at level `debug`, all others at `info`. */
export function useRequestLog(app: FastifyInstance): void {
  app.addHook('onResponse', async (request, reply) => {
    const { method, url, user, refusal } = request;
    const facts = {
      method,
      url,
      status: reply.statusCode,
      user: user?.name,
      ms: Math.round(reply.elapsedTime * 10) / 10,
      ...(refusal === null ? {} : { reason: refusal }),
    };
    request.log[isRoutine(request, reply.statusCode) ? 'debug' : 'info'](facts, 'request');
  });
}

/** Whether a request is a read or a report, of which devices send so many that they would bury the rest of the log. */
function isRoutine({ method, route }: FastifyRequest, status: number): boolean {
  // Failed polls and reports are logged by their own error handlers.
  if (method === 'GET' || method === 'HEAD') return status < 500 || route === INFO_ROUTE;
  return route === '/api/v2/reports' && (status < 400 || status >= 500);
}
