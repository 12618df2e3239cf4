import { resolve } from 'node:path';
import type { FastifyInstance } from 'fastify';
import type { Logger } from 'pino';
import { appDefaults } from '../desired/app.ts';
import { createFaults } from '../faults.ts';
import type { Authenticator } from '../http/access/authentication.ts';
import { createServer } from '../http/server.ts';
import type { Reconciler } from '../reconcile/reconciler.ts';
import { type Config, shownSettings } from '../settings.ts';
import { readingAhead } from '../source/read-ahead.ts';
import type { Source } from '../source/source.ts';
import type { PollLease } from '../store/poll-lease.ts';
import type { Store, StoreProgress } from '../store/store.ts';
import type { Clock } from './clock.ts';
import { buildEngine, type Engine } from './engine.ts';
import { startReportExpiry } from './expiry.ts';
import { listen } from './listen.ts';
import { createMetrics, type ServiceMetrics } from './observability/metrics.ts';
import { createProgressLog, type Draw } from './observability/progress.ts';
import { openAuthenticator } from './open/accounts.ts';
import { lockDataFolder, openDataFolder } from './open/data-folder.ts';
import { openSource } from './open/source.ts';
import { openStore } from './open/store.ts';
import { createStopClock, type StopClock, whenOver } from './stop-clock.ts';
import { PRODUCT_VERSION } from './version.ts';

/** What the service takes from the process that it runs in. */
export interface ServiceEnvironment {
  clock: Clock;
  env: Readonly<Record<string, string | undefined>>;
  logger: Logger;
  /** Shows a text to the person at the terminal, outside the log. */
  announce(text: string): void;
  /** Draws on the terminal; absent without one. */
  draw?: Draw | null;
  /** Aborted when the process is told to end, which can be before the service has started. */
  stopping?: AbortSignal;
}

/** A running manager. */
export interface Service {
  /** Where it listens: `http://127.0.0.1:8080`. */
  address: string;
  /** Finishes requests in flight, ends the pass, closes the store. */
  close(): Promise<void>;
}

const NOT_RECORDED =
  'the last ids were not recorded in time; the next start records them, and if the store is lost before that, containers restart';

/**
 * Builds every object by hand, in the order in which they need each other, and starts: first the server, so that
 * the last good state is served at once, then the first pass. Rejects with a HoldfastError when it cannot start.
 */
export async function startService(config: Config, environment: ServiceEnvironment): Promise<Service> {
  const { logger } = environment;
  logger.debug({ settings: shownSettings(config) }, 'settings');
  const data = await openDataFolder(config.DATA_DIR, logger);
  const lock = await lockDataFolder(data, environment.clock.now());
  try {
    const service = await serveFrom(data, config, environment, lock.tell);
    return { ...service, close: () => service.close().finally(lock.release) };
  } catch (error) {
    lock.release();
    throw error;
  }
}

/** The service on a data folder that is its own; passes its address to `tell` as soon as it listens there. */
async function serveFrom(
  data: string,
  config: Config,
  environment: ServiceEnvironment,
  tell: (address: string) => Promise<void>,
): Promise<Service> {
  const { logger, env, clock } = environment;
  const faults = createFaults(env['HOLDFAST_FAULT'], () => process.kill(process.pid, 'SIGKILL'));
  const { authenticator, settle } = await openAuthenticator(config, data, environment);
  const metrics = createMetrics();
  const defaults = appDefaults(config.DEFAULT_NETWORKS);
  const { elapsed } = clock;
  const stop = createStopClock(environment.stopping);
  const enough = stop.over.calls;
  const { store, given, lease } = await openStore(config, { data, defaults, logger, elapsed, enough });
  const opened = await openSource(config, data, {
    ...environment,
    onTransfer: metrics.countTransfer,
    faults,
    mayCreate: async () => (await store.state()).applied === null,
  });
  const source = readingAhead(opened);
  const onProgress = createProgressLog({ logger, draw: environment.draw ?? null, elapsed });
  const shared = { store, defaults, logger, metrics, clock };
  const engine = buildEngine(config, { ...shared, source, given, lease, faults, onProgress });
  const parts = { ...engine, ...shared, authenticator };
  // The one waits for git, the other for nothing.
  const [, server] = await Promise.all([prepare(store, engine.reconciler), buildServer(config, parts)]);
  const address = await listen(server, config.HOST, config.PORT);
  await settle();
  await tell(address);
  logger.info({ version: PRODUCT_VERSION, address, desiredState: placeOf(config), data }, 'listening');
  await beginReconciling(engine.reconciler, source, environment.stopping);
  // Whoever upgrades the program in its place takes its files away; from here on it needs none of them.
  await metrics.load();
  logger.debug('everything is loaded');
  const stopExpiry = startReportExpiry(store, config.REPORT_TTL * 1000, clock.now, logger);
  const running = { server, ...engine, source, lease, store, logger };
  const close = async (): Promise<void> => {
    stopExpiry();
    stop.begin();
    await closeAll(running, stop);
    stop.end();
  };
  return { address, close };
}

interface Running extends Pick<Engine, 'writer' | 'reconciler' | 'recorder'> {
  server: FastifyInstance;
  source: Source;
  lease: PollLease | null;
  store: Store;
  logger: Logger;
}

/** In the order in which they need each other. */
async function closeAll(running: Running, { over }: StopClock): Promise<void> {
  const { server, writer, reconciler, source, store } = running;
  // Writes in flight may come to their end; nothing waits for a poll.
  const letBe = whenOver(over.pushes, () => source.origin?.abandon());
  // From the beginning: what is closed first can wait for the record's turn.
  const letRecordBe = whenOver(over.recordPush, () => source.origin?.abandonRecord());
  await server.close();
  await writer.close();
  const closed = reconciler.close();
  source.origin?.interrupt();
  await closed;
  letBe();
  await closeRecord(running, over);
  letRecordBe();
  await source.close();
  await store.close();
}

/** The lease is given up meanwhile: both can wait for others, and neither for the other. */
async function closeRecord({ recorder, lease, logger }: Running, over: StopClock['over']): Promise<void> {
  let isOpen = true;
  const closed = recorder.close().then(() => {
    isOpen = false;
  });
  const late = new Promise<void>((resolve) => whenOver(over.record, resolve));
  await Promise.race([Promise.all([closed, lease?.giveUp()]), late]);
  if (isOpen) logger.error(NOT_RECORDED);
}

/** Of the desired state: a folder of this machine, or a path in the repository elsewhere. */
function placeOf({ GIT_REMOTE, DESIRED_STATE }: Config): string {
  return GIT_REMOTE === null ? resolve(DESIRED_STATE) : DESIRED_STATE;
}

/**
 * What is served at once must not be older than what devices saw before. An unavailable store is no reason not to start.
 */
async function prepare(store: StoreProgress, reconciler: Reconciler): Promise<void> {
  const isSeeded = await store.state().then(
    ({ seededFrom }) => seededFrom !== null,
    () => false,
  );
  if (isSeeded) await reconciler.prepare();
}

/** The first pass can take long: a stop in the middle of it does not wait for origin. */
async function beginReconciling(
  reconciler: Reconciler,
  { origin }: Source,
  stopping: AbortSignal | undefined,
): Promise<void> {
  const letBe = stopping && whenOver(stopping, () => origin?.abandon());
  await reconciler.start();
  letBe?.();
}

interface ServerParts extends Engine {
  store: Store;
  authenticator: Authenticator;
  logger: Logger;
  metrics: ServiceMetrics;
  clock: Clock;
}

async function buildServer(config: Config, parts: ServerParts): Promise<FastifyInstance> {
  const { authenticator, logger, clock, ...api } = parts;
  return createServer({
    api: { ...api, now: clock.now },
    authenticator,
    logger,
    bodyLimit: config.BODY_LIMIT,
    webhookSecret: config.WEBHOOK_SECRET,
    version: PRODUCT_VERSION,
  });
}
