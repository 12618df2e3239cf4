import { chmod, mkdir, stat } from 'node:fs/promises';
import { resolve } from 'node:path';
import { setTimeout as wait } from 'node:timers/promises';
import type { FastifyInstance } from 'fastify';
import type { Logger } from 'pino';
import type { Writer } from '../change/write.ts';
import { createWriter } from '../change/writer.ts';
import { type AppDefaults, appDefaults } from '../desired/app.ts';
import { createFaults, type Faults } from '../faults.ts';
import { adminAccount, identity } from '../http/admin.ts';
import { type Authenticator, allowEverybody, createAuthenticator } from '../http/authentication.ts';
import { createInfoCache, type InfoCache, type InfoCacheDependencies } from '../http/info-cache.ts';
import { infoRecord } from '../http/records.ts';
import { createServer } from '../http/server.ts';
import type { TellProgress } from '../reconcile/progress.ts';
import { createReconciler, type Reconciler, type ReconcilerDependencies } from '../reconcile/reconciler.ts';
import { createRecorder, type Recorder } from '../reconcile/record/recorder.ts';
import { type Config, shownSettings } from '../settings.ts';
import type { Source } from '../source/source.ts';
import { lockFolder } from '../store/sqlite/folder-lock.ts';
import type { Store } from '../store/store.ts';
import { expireReports } from './expiry.ts';
import { listen } from './listen.ts';
import { createMetrics, type ServiceMetrics } from './metrics.ts';
import { openSource } from './open-source.ts';
import { openStore } from './open-store.ts';
import { createPassLog } from './pass-log.ts';
import { createProgressLog, type Draw } from './progress.ts';
import { createRecordLog } from './record-log.ts';
import { productVersion } from './version.ts';

/** The two times of a machine. */
export interface Clock {
  /** Unix milliseconds: for people and for ids. It can jump, also back. */
  now(): number;
  /** Milliseconds since some moment, always rising: for how long something lasts. */
  elapsed(): number;
}

/** What the service takes from the process that it runs in. */
export interface ServiceEnvironment {
  clock: Clock;
  env: Readonly<Record<string, string | undefined>>;
  logger: Logger;
  /** Shows a text to the person at the terminal, outside the log. */
  announce(text: string): void;
  /** Draws on the terminal; absent where nobody looks at one. */
  draw?: Draw | null;
}

/** A running manager. */
export interface Service {
  /** Where it listens: `http://127.0.0.1:8080`. */
  address: string;
  /** Finishes requests in flight, ends the pass, closes the store. */
  close(): Promise<void>;
}

/** Milliseconds for the last version of the record of ids when the process ends. */
const LAST_RECORD_LIMIT = 3000;

/** Milliseconds that a device waits for the store when there is a last good reply. */
const PATIENCE = 1000;

/**
 * Builds every object by hand, in the order in which they need each other, and starts: first the server, so that
 * the last good state is served at once, then the first pass. Rejects with a HoldfastError when it cannot start.
 */
export async function startService(config: Config, environment: ServiceEnvironment): Promise<Service> {
  const { logger } = environment;
  logger.debug({ settings: shownSettings(config) }, 'settings');
  const data = await openDataFolder(config.DATA_DIR);
  const lock = await lockFolder(data, process.pid, environment.clock.now());
  try {
    const service = await serveFrom(data, config, environment);
    await lock.tell(service.address);
    return { ...service, close: () => service.close().finally(lock.release) };
  } catch (error) {
    lock.release();
    throw error;
  }
}

/** The service on a data folder that is its own. */
async function serveFrom(data: string, config: Config, environment: ServiceEnvironment): Promise<Service> {
  const { logger, env, clock } = environment;
  const faults = createFaults(env['HOLDFAST_FAULT'], () => process.kill(process.pid, 'SIGKILL'));
  const authenticator = await openAuthenticator(config, data, environment);
  const metrics = createMetrics();
  const source = await openSource(config, data, {
    ...environment,
    onTransfer: metrics.countTransfer,
    faults,
  });
  const defaults = appDefaults(config.DEFAULT_NETWORKS);
  const store = await openStore(config, { data, defaults, logger });
  const onProgress = createProgressLog({ logger, draw: environment.draw ?? null, elapsed: clock.elapsed });
  const engine = buildEngine(config, { source, store, defaults, logger, metrics, faults, clock, onProgress });
  const parts = { ...engine, store, defaults, authenticator, logger, metrics, clock };
  const server = await buildServer(config, parts);
  await prepare(store, engine.reconciler);
  const address = await listen(server, config.HOST, config.PORT);
  logger.info({ address, desiredState: resolve(config.DESIRED_STATE), data }, 'listening');
  await engine.reconciler.start();
  const stopExpiry = expireReports(store, config.REPORT_TTL * 1000, clock.now, logger);
  const close = async (): Promise<void> => {
    stopExpiry();
    await server.close();
    await engine.writer.close();
    await engine.reconciler.close();
    await Promise.race([engine.recorder.close(), wait(LAST_RECORD_LIMIT, undefined, { ref: false })]);
    await source.close();
    await store.close();
  };
  return { address, close };
}

async function openDataFolder(path: string): Promise<string> {
  const folder = resolve(path);
  await mkdir(folder, { recursive: true, mode: 0o700 });
  const { mode } = await stat(folder);
  if ((mode & 0o777) !== 0o700) await chmod(folder, 0o700);
  return folder;
}

async function openAuthenticator(
  config: Config,
  data: string,
  { logger, announce, clock }: ServiceEnvironment,
): Promise<Authenticator> {
  if (!config.AUTH_ENABLED) {
    logger.warn('authentication is off: everybody who reaches this server can do everything');
    return allowEverybody(identity('anonymous', null));
  }
  const account = await adminAccount({
    user: config.BASIC_AUTH_USER,
    password: config.BASIC_AUTH_PASSWORD,
    email: config.BASIC_AUTH_EMAIL,
    file: `${data}/admin.json`,
    announce: (user, password) =>
      announce(`\nThis is shown once. Sign in as "${user}" with the password ${password}\n\n`),
  });
  return createAuthenticator([account], clock.elapsed);
}

interface EngineParts {
  source: Source;
  store: Store;
  defaults: AppDefaults;
  logger: Logger;
  metrics: ServiceMetrics;
  faults: Faults;
  clock: Clock;
  onProgress: TellProgress;
}

interface Engine {
  reconciler: Reconciler;
  recorder: Recorder;
  writer: Writer;
  info: InfoCache;
}

function buildEngine(config: Config, parts: EngineParts): Engine {
  const { source, store, defaults, logger, metrics, faults, clock, onProgress } = parts;
  const { reader, publisher, record } = source;
  const { now } = clock;
  const onStatus = createRecordLog(logger);
  const recorder = createRecorder({ record, store, reader, now, random: Math.random, onStatus });
  const info = recordedInfo(recorder, {
    groupInfo: (name) => store.groupInfo(name),
    render: (group) => JSON.stringify(infoRecord(group)),
    lifetime: config.CACHE_TIME * 1000,
    elapsed: clock.elapsed,
    patience: () => wait(PATIENCE, undefined, { ref: false }),
  });
  const reconciler = createReconciler({
    source,
    store,
    defaults,
    strict: config.STRICT,
    pollInterval: config.GIT_POLL_INTERVAL * 1000,
    now,
    random: Math.random,
    faults,
    onProgress,
    onApplied: (keys) => info.invalidate(keys),
    onPass: passListener(recorder, metrics, logger),
  });
  const { STRICT: strict } = config;
  const writer = createWriter({ reconciler, reader, publisher, store, defaults, strict, now, faults });
  return { reconciler, recorder, writer, info };
}

/** Where there is something to serve, it must not be older than what devices saw. A store that is away is no reason not to start. */
async function prepare(store: Store, reconciler: Reconciler): Promise<void> {
  const isSeeded = await store.state().then(
    ({ seeded }) => seeded,
    () => false,
  );
  if (isSeeded) await reconciler.prepare();
}

/** The cache is told of every id that rises, so the record learns of them by the same word. */
function recordedInfo(recorder: Recorder, dependencies: InfoCacheDependencies): InfoCache {
  const info = createInfoCache(dependencies);
  return {
    ...info,
    invalidate: (keys) => {
      info.invalidate(keys);
      recorder.touch();
    },
  };
}

/** Ids that were taken anew after a loss are recorded at once: until then another loss would find the old ones. */
function passListener(
  recorder: Recorder,
  metrics: ServiceMetrics,
  logger: Logger,
): ReconcilerDependencies['onPass'] {
  const log = createPassLog(logger);
  return async (outcome, status) => {
    log(outcome, status);
    metrics.countPass(outcome, status);
    const seeding = outcome.ok ? outcome.report.seeding : null;
    if (seeding === null) return recorder.touch();
    if (seeding.adopted !== null) recorder.adopt(seeding.adopted);
    await recorder.flush();
  };
}

interface ServerParts extends Engine {
  store: Store;
  defaults: AppDefaults;
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
    version: await productVersion(),
  });
}
