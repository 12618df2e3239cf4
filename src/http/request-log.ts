import type { FastifyBaseLogger, FastifyInstance, FastifyRequest } from 'fastify';
import { isDevice } from '../accounts/principal.ts';
import { createRefusalLog, loggedUrl } from './refusal-log.ts';
import { recordOf } from './route-record.ts';

/**
 * Logs every request after its reply has been sent: routine ones at level `debug`, all others at `info`. Refused ones
 * without an account, or of the account that all devices share, are only counted (`createRefusalLog`). `now` returns Unix milliseconds.
 */
export function useRequestLog(app: FastifyInstance, logger: FastifyBaseLogger, now: () => number): void {
  const refusals = createRefusalLog(logger, now);
  app.addHook('onClose', async () => refusals.close());
  app.addHook('onResponse', async (request, reply) => {
    const { method, refusal, ip: address } = request;
    const url = loggedUrl(request);
    const status = reply.statusCode;
    const reason = refusal === null ? {} : { reason: refusal };
    if (isCounted(request, status)) return refusals.add({ method, url, status, address, ...reason });
    const ms = Math.round(reply.elapsedTime * 10) / 10;
    const facts = { method, url, status, user: request.user?.name, ms, ...reason };
    request.log[isRoutine(request, status) ? 'debug' : 'info'](facts, 'request');
  });
}

/** Whether a request was refused to somebody whom the log must not trust. Failures of devices have logs of their own. */
function isCounted(request: FastifyRequest, status: number): boolean {
  const { user } = request;
  // The log of passes explains why the manager is not ready.
  if (status < 400 || recordOf(request).isProbe) return false;
  return user === null || (isDevice(user) && status < 500);
}

/** Whether a request is a read or a report, of which devices send so many that they would bury the rest of the log. */
function isRoutine(request: FastifyRequest, status: number): boolean {
  const { isProbe, isRoutine } = recordOf(request);
  // Failed polls and reports are logged by their own error handlers.
  if (request.method === 'GET' || request.method === 'HEAD') return status < 500 || isRoutine || isProbe;
  return isRoutine && (status < 400 || status >= 500);
}
