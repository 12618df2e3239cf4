import { maxHeaderSize } from 'node:http';
import Fastify, {
  type FastifyBaseLogger,
  type FastifyError,
  type FastifyInstance,
  type FastifyReply,
  type FastifyRequest,
  LogController,
} from 'fastify';
import type { Authenticator } from '../accounts/authenticator.ts';
import { checkAccess, useGate } from './access/gate.ts';
import { refuseHost, type ServesHost, useHosts } from './access/hosts.ts';
import type { Api } from './api.ts';
import { sendError, useErrorReplies } from './errors.ts';
import { NO_SNIFFING } from './json.ts';
import { useOpenApi } from './openapi/openapi.ts';
import { answerClientError } from './protocol/client-error.ts';
import { limitConnections } from './protocol/connections.ts';
import { useProtocolRules } from './protocol/http-rules.ts';
import { useMethods } from './protocol/methods.ts';
import { useShutdown } from './protocol/shutdown.ts';
import { useJsonBodies } from './request/body.ts';
import { useChecks } from './request/checks.ts';
import { createRequestIds, requestId } from './request/request-id.ts';
import { useRequestLog } from './request-log.ts';
import { REVISION_HEADER, withRevision } from './revision.ts';
import { recordOf } from './route-record.ts';
import { appActionRoutes } from './routes/app-actions.ts';
import { appRoutes } from './routes/apps.ts';
import { askRoutes } from './routes/asks.ts';
import { changesRoutes } from './routes/changes.ts';
import { convergenceRoutes } from './routes/convergence.ts';
import { deviceFileRoutes } from './routes/device-files.ts';
import { deviceGroupRoutes } from './routes/device-groups.ts';
import { deviceInfoRoutes } from './routes/device-info.ts';
import { deviceRoutes } from './routes/devices.ts';
import { fileRoutes } from './routes/files.ts';
import { historyRoutes } from './routes/history.ts';
import { incidentRoutes } from './routes/incidents.ts';
import { infoRoutes } from './routes/info.ts';
import { useInfoShortcut } from './routes/info-shortcut.ts';
import { inventoryRoutes } from './routes/inventory.ts';
import { metricsRoutes } from './routes/metrics.ts';
import { operationRoutes } from './routes/operations.ts';
import { planRoutes } from './routes/plan.ts';
import { pruneRoutes } from './routes/prune.ts';
import { reconcileRoutes } from './routes/reconcile.ts';
import { reportRoutes } from './routes/reports.ts';
import { revisionRoutes } from './routes/revisions.ts';
import { rollbackRoutes } from './routes/rollback.ts';
import { rootRoutes } from './routes/root.ts';
import { statusRoutes } from './routes/status.ts';
import { summaryRoutes } from './routes/summary.ts';
import { useWebhook } from './routes/webhook.ts';

/** What the server is made of. */
export interface ServerOptions {
  api: Api;
  authenticator: Authenticator;
  servesHost: ServesHost;
  logger: FastifyBaseLogger;
  /** The largest request body, in bytes. */
  bodyLimit: number;
  /** The key that webhooks are signed with; null turns the webhook off. */
  webhookSecret: string | null;
  version: string;
  /** Gets the number of open connections whenever one is opened or closed. */
  onConnections(open: number): void;
}

/** Milliseconds. A slow client must not hold a connection forever. The first must be less than the second. */
const HEADERS_TIMEOUT = 20_000;
const REQUEST_TIMEOUT = 30_000;
/** Milliseconds after which a client that takes no byte of a reply is cut off. */
const REPLY_TIMEOUT = 30_000;
/** Milliseconds between two checks of these limits. Node's half a minute would more than double the first. */
const CHECKING_INTERVAL = 1000;
/** Milliseconds: longer than devices usually wait between two polls, so that their connections stay open. */
const KEEP_ALIVE_TIMEOUT = 75_000;
/** Milliseconds that a closing server waits for its clients; the process ends a few seconds later (`program.ts`). */
const CLOSE_GRACE = 5000;
/** Longer than any URL that Node accepts, so that the router passes every name on to the check of names. */
const MAX_PARAM_LENGTH = maxHeaderSize;
/** The log levels at which every request is logged, even reads. */
const VERBOSE_LEVELS = new Set(['trace', 'debug']);

/** Builds the server with all its routes. The caller makes it listen. */
export async function createServer(options: ServerOptions): Promise<FastifyInstance> {
  const { api, authenticator, servesHost, logger, bodyLimit, version } = options;
  const newRequestId = createRequestIds();
  const app = Fastify({
    loggerInstance: warningsOnly(logger),
    childLoggerFactory: (_parent, bindings, options) => logger.child(bindings, options),
    logController: new LogController({ disableRequestLogging: true }),
    http: {
      headersTimeout: HEADERS_TIMEOUT,
      connectionsCheckingInterval: CHECKING_INTERVAL,
      requireHostHeader: false,
    },
    requestTimeout: REQUEST_TIMEOUT,
    connectionTimeout: REPLY_TIMEOUT,
    keepAliveTimeout: KEEP_ALIVE_TIMEOUT,
    // Fastify's 503 is JSON without `apps`: workers would stop their containers whenever a manager restarts.
    return503OnClosing: false,
    routerOptions: { maxParamLength: MAX_PARAM_LENGTH },
    genReqId: (request) => requestId(request, newRequestId),
    clientErrorHandler: answerClientError,
    schemaController: {
      compilersFactory: { buildValidator: unusedCompiler, buildSerializer: unusedCompiler },
    },
    frameworkErrors: (error, request, reply) => void refuseUnroutable(error, request, reply, options),
  });
  app.setValidatorCompiler(() => (value) => ({ value }));
  // The schemas of replies are for the document. An object that was valid when it was applied is served as it is.
  app.setSerializerCompiler(() => JSON.stringify);
  useJsonBodies(app, bodyLimit);
  useErrorReplies(app, api.now);
  useProtocolRules(app);
  useHosts(app, servesHost);
  useGate(app, authenticator);
  useHeaders(app, api);
  useRequestLog(app, logger, api.now);
  useChecks(app, api);
  useShutdown(app, CLOSE_GRACE);
  useMethods(app);
  await useOpenApi(app, version);
  for (const routes of ROUTES) routes(app, api);
  await useWebhook(app, api, options.webhookSecret);
  useInfoShortcut(app, { ...options, logsRequests: () => VERBOSE_LEVELS.has(logger.level) });
  limitConnections(app, options.onConnections);
  return app;
}

/** Stands in for fastify's default compilers: fastify would load them at every start and never use them. */
function unusedCompiler(): never {
  throw new Error('a schema came before its compiler was set');
}

/** The routes, without those of the webhook and the OpenAPI document. */
export const ROUTES = [
  rootRoutes,
  appRoutes,
  appActionRoutes,
  deviceGroupRoutes,
  changesRoutes,
  fileRoutes,
  infoRoutes,
  planRoutes,
  pruneRoutes,
  rollbackRoutes,
  operationRoutes,
  historyRoutes,
  revisionRoutes,
  reportRoutes,
  deviceRoutes,
  deviceFileRoutes,
  deviceInfoRoutes,
  convergenceRoutes,
  askRoutes,
  incidentRoutes,
  inventoryRoutes,
  summaryRoutes,
  statusRoutes,
  reconcileRoutes,
  metricsRoutes,
];

/**
 * Returns a logger that drops fastify's messages below warnings: the service logs that the server listens, with more
 * details.
 */
function warningsOnly(logger: FastifyBaseLogger): FastifyBaseLogger {
  const level = ['error', 'fatal', 'silent'].includes(logger.level) ? logger.level : 'warn';
  return logger.child({}, { level });
}

/**
 * Adds the request id to every reply, and a header for browsers. Adds the applied revision to replies about the fleet, including errors, if the
 * client has been authenticated.
 */
function useHeaders(app: FastifyInstance, { reconciler }: Api): void {
  app.addHook('onSend', async (request, reply) => {
    reply.header('x-request-id', request.id).header(...NO_SNIFFING);
    if (reply.hasHeader(REVISION_HEADER) || request.user === null) return;
    if (recordOf(request).carriesRevision) withRevision(reply, reconciler.status().applied?.revision ?? null);
  });
}

/**
 * Answers a request whose URL cannot be decoded. No hook runs for it, so this function checks the credentials and sets
 * the headers.
 */
async function refuseUnroutable(
  error: FastifyError,
  request: FastifyRequest,
  reply: FastifyReply,
  { api, authenticator, servesHost }: Pick<ServerOptions, 'api' | 'authenticator' | 'servesHost'>,
): Promise<void> {
  reply.header('x-request-id', request.id).header(...NO_SNIFFING);
  if (!servesHost(request.headers.host)) return void refuseHost(reply);
  const denial = await checkAccess(request, reply, authenticator).then(
    () => null,
    (denied: unknown) => denied,
  );
  const revision = api.reconciler.status().applied?.revision ?? null;
  if (denial === null && recordOf(request).carriesRevision) withRevision(reply, revision);
  sendError(denial ?? error, request, reply);
}
