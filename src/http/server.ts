import { maxHeaderSize } from 'node:http';
import Fastify, {
  type FastifyBaseLogger,
  type FastifyError,
  type FastifyInstance,
  type FastifyReply,
  type FastifyRequest,
  LogController,
} from 'fastify';
import { serializerCompiler } from 'fastify-type-provider-zod';
import type { Authenticator } from './access/authentication.ts';
import { passGate, useGate } from './access/gate.ts';
import type { Api } from './api.ts';
import { sendError, useErrorReplies } from './errors.ts';
import { useInfoShortcut } from './info/shortcut.ts';
import { useOpenApi } from './openapi/openapi.ts';
import { answerClientError } from './protocol/client-error.ts';
import { useProtocolRules } from './protocol/http-rules.ts';
import { useMethods } from './protocol/methods.ts';
import { useShutdown } from './protocol/shutdown.ts';
import { useJsonBodies } from './request/body.ts';
import { useChecks } from './request/checks.ts';
import { createRequestIds, requestId } from './request/request-id.ts';
import { useRequestLog } from './request-log.ts';
import { REVISION_HEADER, TELLS_REVISION, withRevision } from './revision.ts';
import { appActionRoutes } from './routes/app-actions.ts';
import { appRoutes } from './routes/apps.ts';
import { deviceGroupRoutes } from './routes/device-groups.ts';
import { infoRoutes } from './routes/info.ts';
import { metricsRoutes } from './routes/metrics.ts';
import { operationRoutes } from './routes/operations.ts';
import { pruneRoutes } from './routes/prune.ts';
import { reconcileRoutes } from './routes/reconcile.ts';
import { reportRoutes } from './routes/reports.ts';
import { statusRoutes } from './routes/status.ts';
import { useWebhook } from './routes/webhook.ts';

/** How the server is set up. */
export interface ServerOptions {
  api: Api;
  authenticator: Authenticator;
  logger: FastifyBaseLogger;
  /** Bytes. */
  bodyLimit: number;
  /** Key of the webhook; null turns it off. */
  webhookSecret: string | null;
  version: string;
}

/** Milliseconds. A slow client must not hold a connection for ever; the first is below the second (design, "HTTP"). */
const HEADERS_TIMEOUT = 20_000;
const REQUEST_TIMEOUT = 30_000;
/** Longer than devices usually wait between two polls, so that they keep their connection. */
const KEEP_ALIVE_TIMEOUT = 75_000;
/** Milliseconds that a closing server waits for clients; the process ends a few seconds later (`program.ts`). */
const CLOSE_GRACE = 5000;
/** As long as Node allows headers to be, so that it is the rule of names that refuses a name. */
const MAX_PARAM_LENGTH = maxHeaderSize;
/** Levels at which also requests that only read are logged. */
const VERBOSE_LEVELS = new Set(['trace', 'debug']);

/** Builds the whole HTTP side without listening. */
export async function createServer(options: ServerOptions): Promise<FastifyInstance> {
  const { api, authenticator, logger, bodyLimit, version } = options;
  const newRequestId = createRequestIds();
  const app = Fastify({
    loggerInstance: quietly(logger),
    childLoggerFactory: (_parent, bindings, options) => logger.child(bindings, options),
    logController: new LogController({ disableRequestLogging: true }),
    http: { headersTimeout: HEADERS_TIMEOUT, requireHostHeader: false },
    requestTimeout: REQUEST_TIMEOUT,
    keepAliveTimeout: KEEP_ALIVE_TIMEOUT,
    // That would be JSON without `apps`, at which workers stop their containers: here because a manager restarts.
    return503OnClosing: false,
    routerOptions: { maxParamLength: MAX_PARAM_LENGTH, caseSensitive: true },
    genReqId: (request) => requestId(request, newRequestId),
    clientErrorHandler: answerClientError,
    schemaController: { compilersFactory: { buildValidator: neverAsked, buildSerializer: neverAsked } },
    frameworkErrors: (error, request, reply) => void refuseUnroutable(error, request, reply, options),
  });
  app.setValidatorCompiler(() => (value) => ({ value }));
  app.setSerializerCompiler(serializerCompiler);
  useJsonBodies(app, bodyLimit);
  useErrorReplies(app);
  useProtocolRules(app);
  useGate(app, authenticator);
  useHeaders(app, api);
  useRequestLog(app);
  useChecks(app, api);
  useShutdown(app, CLOSE_GRACE);
  useMethods(app);
  await useOpenApi(app, version);
  for (const routes of ROUTES) routes(app, api);
  await useWebhook(app, api, options.webhookSecret);
  useInfoShortcut(app, { api, authenticator, logsRequests: () => VERBOSE_LEVELS.has(logger.level) });
  return app;
}

/** Replaces fastify's default compilers, which it would load at every start although others are set. */
function neverAsked(): never {
  throw new Error('a schema came before its compiler was set');
}

const ROUTES = [
  appRoutes,
  appActionRoutes,
  deviceGroupRoutes,
  infoRoutes,
  pruneRoutes,
  operationRoutes,
  reportRoutes,
  statusRoutes,
  reconcileRoutes,
  metricsRoutes,
];

/**
 * Lets only fastify's warnings through: that the server listens is logged by the service, with more details.
 */
function quietly(logger: FastifyBaseLogger): FastifyBaseLogger {
  const level = ['error', 'fatal', 'silent'].includes(logger.level) ? logger.level : 'warn';
  return logger.child({}, { level });
}

/**
 * Adds the request id to every reply, and the applied revision to those about the fleet, errors included; not for who is
 * not let in.
 */
function useHeaders(app: FastifyInstance, { reconciler }: Api): void {
  app.addHook('onSend', async (request, reply) => {
    reply.header('x-request-id', request.id);
    const isTold = reply.hasHeader(REVISION_HEADER) || request.user === null;
    if (isTold || !TELLS_REVISION.test(request.route ?? request.url)) return;
    withRevision(reply, reconciler.status().applied?.revision ?? null);
  });
}

/** Answers a URL that cannot be decoded: it never reaches the hooks, so credentials and headers are handled here. */
async function refuseUnroutable(
  error: FastifyError,
  request: FastifyRequest,
  reply: FastifyReply,
  { api, authenticator }: Pick<ServerOptions, 'api' | 'authenticator'>,
): Promise<void> {
  const denial = await passGate(request, reply, authenticator).then(
    () => null,
    (denied: unknown) => denied,
  );
  reply.header('x-request-id', request.id);
  const revision = api.reconciler.status().applied?.revision ?? null;
  if (denial === null && TELLS_REVISION.test(request.url)) withRevision(reply, revision);
  sendError(denial ?? error, request, reply);
}
