import { resolve } from 'node:path';
import { setTimeout as wait } from 'node:timers/promises';
import type { FastifyInstance } from 'fastify';
import type { Logger } from 'pino';
import type { Authenticator } from '../accounts/authenticator.ts';
import { openFilesLimit } from '../disk/descriptors.ts';
import { createFaults } from '../faults.ts';
import type { Asks } from '../fleet/asks.ts';
import { countDevices } from '../fleet/counts.ts';
import type { Fleet } from '../fleet/fleet.ts';
import { onlyHosts } from '../http/access/hosts.ts';
import { createServer } from '../http/server.ts';
import type { Clock } from '../process/clock.ts';
import { appDefaults } from '../protocol/app.ts';
import type { Convergence } from '../protocol/device.ts';
import type { Reconciler } from '../reconcile/reconciler.ts';
import { type Config, SECRET_LENGTH, shortSecrets, shownSettings } from '../settings/table.ts';
import type { Source } from '../source/source.ts';
import type { Store, StoreProgress } from '../store/objects/port.ts';
import type { ReportStore } from '../store/reports/port.ts';
import { PRODUCT_VERSION } from '../version.ts';
import { buildEngine, type Engine } from './engine.ts';
import { startReportExpiry } from './expiry.ts';
import { listen } from './listen.ts';
import { createConnectionLog } from './observability/connection-log.ts';
import { createMetrics, type ServiceMetrics } from './observability/metrics.ts';
import { createProgressLog, type Draw } from './observability/progress.ts';
import { openAuthenticator } from './open/accounts.ts';
import { lockDataFolder, openDataFolder } from './open/data-folder.ts';
import { type FleetViews, openFleet, openFleetViews } from './open/fleet.ts';
import { openSource } from './open/source.ts';
import { openStore } from './open/store.ts';
import { createStopClock, onAbort, type StopClock } from './stop-clock.ts';

/** What the service needs from its process. */
export interface ServiceEnvironment {
  clock: Clock;
  env: Readonly<Record<string, string | undefined>>;
  logger: Logger;
  /** Shows a text to the user at the terminal, outside the log. */
  announce(text: string): void;
  /** Draws on the terminal; null or absent without one. */
  draw?: Draw | null;
  /** Is aborted when the process gets a signal to stop, which can be before the service has started. */
  stopping?: AbortSignal;
}

/** A running manager. */
export interface Service {
  /** The address that it listens on: `http://127.0.0.1:8080`. */
  address: string;
  /** Finishes requests in flight, ends the running pass, and closes the store. */
  close(): Promise<void>;
}

/** Milliseconds from the start of listening within which a generated password is shown. */
const PASSWORD_DELAY = 5000;

const NOT_RECORDED =
  'the last ids were not recorded in time; the next start records them, and if the store is lost before that, containers restart';

/**
 * Builds every object, each after those that it needs, and starts them: first the server, so that the last good state
 * is served at once, then the first pass. Rejects with a HoldfastError if the service cannot start.
 */
export async function startService(config: Config, environment: ServiceEnvironment): Promise<Service> {
  const { logger } = environment;
  logger.debug({ settings: shownSettings(config) }, 'settings');
  const settings = shortSecrets(config);
  if (settings.length > 0)
    logger.warn({ settings }, `secrets can be guessed: choose at least ${SECRET_LENGTH} random characters`);
  const data = await openDataFolder(config.DATA_DIR, logger);
  const lock = await lockDataFolder(data, environment.clock.now());
  try {
    const service = await serveFrom(data, config, environment, lock.recordAddress);
    return { ...service, close: () => service.close().finally(lock.release) };
  } catch (error) {
    lock.release();
    throw error;
  }
}

/** Starts the service on a locked data folder; passes its address to `recordAddress` as soon as it listens. */
async function serveFrom(
  data: string,
  config: Config,
  environment: ServiceEnvironment,
  recordAddress: (address: string) => Promise<void>,
): Promise<Service> {
  const { logger, env, clock } = environment;
  const faults = createFaults(env['HOLDFAST_FAULT'], () => process.kill(process.pid, 'SIGKILL'));
  const { authenticator, keepPassword } = await openAuthenticator(config, data, environment);
  const defaults = appDefaults(config.DEFAULT_NETWORKS);
  const { elapsed } = clock;
  const stop = createStopClock(environment.stopping);
  const callDeadline = stop.expired.calls;
  const opened = await openStore(config, { data, defaults, logger, callDeadline });
  const { store, reports } = opened;
  const { fleet, asks } = openFleet(config, opened, environment);
  const metrics = createMetrics(() => countsOf(fleet));
  const source = await openSource(config, data, {
    ...environment,
    onTransfer: metrics.countTransfer,
    faults,
    mayCreate: async () => (await store.state()).applied === null,
  });
  const onProgress = createProgressLog({ logger, draw: environment.draw ?? null, elapsed });
  const common = { ...opened, defaults, logger, fleet, asks, metrics, clock };
  const engine = buildEngine(config, { ...common, source, faults, onProgress });
  const views = openFleetViews(config, { ...common, source }, engine);
  metrics.setFleet(views);
  const parts = { ...engine, ...common, ...views, authenticator, followed: source.address };
  // `prepare` mostly waits for git, and building the server only needs the processor: so they run at the same time.
  const [, server] = await Promise.all([prepare(store, engine.reconciler), buildServer(config, parts)]);
  const address = await listen(server, config.HOST, config.PORT);
  await recordAddress(address);
  views.start();
  logger.info({ version: PRODUCT_VERSION, address, ...followedBy(config, source), data }, 'listening');
  const reconciling = startReconciling(engine, source, environment.stopping);
  await keepAfter(reconciling, keepPassword);
  // An upgrade in place replaces the files of the running program, so everything is loaded by now.
  await metrics.load();
  logger.debug('everything is loaded');
  const stopExpiry = startReportExpiry(reports, config.REPORT_TTL * 1000, clock.now, logger);
  const running = { server, ...engine, source, closeFleet: views.close, closeStore: opened.close, logger };
  const close = async (): Promise<void> => {
    stopExpiry();
    stop.start();
    await closeAll(running, stop);
    stop.cancel();
  };
  return { address, close };
}

async function countsOf(fleet: Fleet): Promise<Convergence> {
  return countDevices(await fleet.known(), fleet.anonymousPolls());
}

/**
 * Waits for the first pass, and shows a generated password when it is over, since lines of the log would move it out of
 * sight. If the pass takes long, the password is shown meanwhile.
 */
async function keepAfter(pass: Promise<void>, keepPassword: () => Promise<void>): Promise<void> {
  const done = new AbortController();
  const timeOut = wait(PASSWORD_DELAY, undefined, { signal: done.signal }).catch(() => undefined);
  await Promise.race([pass, timeOut]).finally(() => done.abort());
  await keepPassword();
  await pass;
}

interface Running extends Pick<Engine, 'events' | 'writer' | 'reconciler' | 'keeper' | 'indexer'> {
  server: FastifyInstance;
  source: Source;
  closeFleet: () => Promise<void>;
  closeStore: () => Promise<void>;
  logger: Logger;
}

/** Closes every object before those that it needs. */
async function closeAll(running: Running, { expired }: StopClock): Promise<void> {
  const { server, writer, reconciler, source, closeStore } = running;
  // Writes in flight have until then to finish.
  const cancelAbandon = onAbort(expired.pushes, () => source.origin?.abandon());
  // Set before anything is closed, because the first steps can also wait for a push of the record.
  const cancelAbandonRecord = onAbort(expired.recordPush, () => source.origin?.abandonRecord());
  await server.close();
  await writer.close();
  const closed = reconciler.close();
  // All writes are done. Only a fetch for a poll can remain beside transfers of the record, which `interrupt` spares;
  // nothing waits for a poll.
  source.origin?.interrupt();
  await closed;
  cancelAbandon();
  await running.indexer.close();
  await running.events.idle();
  await closeRecord(running, expired);
  cancelAbandonRecord();
  await source.close();
  await running.closeFleet();
  await closeStore();
}

async function closeRecord({ keeper, logger }: Running, expired: StopClock['expired']): Promise<void> {
  let isOpen = true;
  const closed = keeper.close().then(() => {
    isOpen = false;
  });
  const timedOut = new Promise<void>((resolve) => onAbort(expired.record, resolve));
  await Promise.race([closed, timedOut]);
  if (isOpen) logger.error(NOT_RECORDED);
}

/** What is followed, for the log. Which branch is checked out in a clone is known after the first pass. */
function followedBy(config: Config, { address }: Source): object {
  const { GIT_REMOTE, GIT_BRANCH } = config;
  const branch = GIT_BRANCH ?? (GIT_REMOTE === null ? 'the one that is checked out' : 'main');
  return { origin: address, branch, desiredState: desiredStatePath(config) };
}

/** Returns the path of the desired state: on this machine, or inside the remote repository. */
function desiredStatePath({ GIT_REMOTE, DESIRED_STATE }: Config): string {
  return GIT_REMOTE === null ? resolve(DESIRED_STATE) : DESIRED_STATE;
}

/**
 * Takes over ids recorded for earlier stores before anything is served, since devices must not see an older state than
 * before. An unavailable store does not prevent the start.
 */
async function prepare(store: StoreProgress, reconciler: Reconciler): Promise<void> {
  const isSeeded = await store.state().then(
    ({ seededFrom }) => seededFrom !== null,
    () => false,
  );
  if (isSeeded) await reconciler.prepare();
}

/** Runs and logs the first, long pass: if the process gets a signal to stop meanwhile, it does not wait for origin. */
async function startReconciling(
  { reconciler, events }: Engine,
  { origin }: Source,
  stopping: AbortSignal | undefined,
): Promise<void> {
  const cancelAbandon = stopping && onAbort(stopping, () => origin?.abandon());
  await reconciler.start();
  cancelAbandon?.();
  await events.idle();
}

interface ServerParts extends Engine, Omit<FleetViews, 'start' | 'close'> {
  asks: Asks;
  followed: string;
  store: Store;
  reports: ReportStore;
  authenticator: Authenticator;
  logger: Logger;
  fleet: Fleet;
  metrics: ServiceMetrics;
  clock: Clock;
}

async function buildServer(config: Config, parts: ServerParts): Promise<FastifyInstance> {
  const { authenticator, logger, clock, ...api } = parts;
  const logConnections = createConnectionLog(logger, openFilesLimit(), clock.now);
  return createServer({
    api: { ...api, now: clock.now },
    authenticator,
    servesHost: config.AUTH_ENABLED ? () => true : onlyHosts(config.ALLOWED_HOSTS ?? []),
    logger,
    bodyLimit: config.BODY_LIMIT,
    webhookSecret: config.WEBHOOK_SECRET,
    version: PRODUCT_VERSION,
    onConnections: (open) => {
      api.metrics.setConnections(open);
      logConnections(open);
    },
  });
}
