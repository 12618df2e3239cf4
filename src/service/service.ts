import { randomBytes } from 'node:crypto';
import { chmod, mkdir } from 'node:fs/promises';
import { resolve } from 'node:path';
import type { FastifyInstance } from 'fastify';
import type { Logger } from 'pino';
import type { Writer } from '../change/write.ts';
import { createWriter } from '../change/writer.ts';
import { type AppDefaults, appDefaults } from '../desired/app.ts';
import { adminAccount, identity } from '../http/admin.ts';
import { type Authenticator, allowEverybody, createAuthenticator } from '../http/authentication.ts';
import { createInfoCache, type InfoCache, type InfoCacheDependencies } from '../http/info-cache.ts';
import { infoRecord } from '../http/records.ts';
import { createServer } from '../http/server.ts';
import { createReconciler, type Reconciler, type ReconcilerDependencies } from '../reconcile/reconciler.ts';
import { createRecorder, type Recorder } from '../reconcile/record/recorder.ts';
import { type Config, shownSettings } from '../settings.ts';
import { openCheckout } from '../source/git/checkout.ts';
import type { Source } from '../source/source.ts';
import { openSqliteStore } from '../store/sqlite/open.ts';
import type { Store } from '../store/store.ts';
import { expireReports } from './expiry.ts';
import { createPassLog } from './pass-log.ts';
import { createRecordLog } from './record-log.ts';
import { productVersion } from './version.ts';

/** What the service takes from the process that it runs in. */
export interface ServiceEnvironment {
  env: Readonly<Record<string, string | undefined>>;
  logger: Logger;
  /** Shows a text to the person at the terminal, outside the log. */
  announce(text: string): void;
  /** Unix milliseconds. */
  now(): number;
}

/** A running manager. */
export interface Service {
  /** Where it listens: `http://127.0.0.1:8080`. */
  address: string;
  /** Finishes requests in flight, ends the pass, closes the store. */
  close(): Promise<void>;
}

/** Milliseconds that one git call on this machine may take. */
const GIT_TIME_LIMIT = 30_000;

/**
 * Builds every object by hand, in the order in which they need each other, and starts: first the server, so that
 * the last good state is served at once, then the first pass. Rejects with a HoldfastError when it cannot start.
 */
export async function startService(config: Config, environment: ServiceEnvironment): Promise<Service> {
  const { logger, now } = environment;
  logger.debug({ settings: shownSettings(config) }, 'settings');
  const data = await openDataFolder(config.DATA_DIR);
  const authenticator = await openAuthenticator(config, data, environment);
  const source = await openSource(config, environment);
  const defaults = appDefaults(config.DEFAULT_NETWORKS);
  const store = await openSqliteStore({ path: `${data}/store.sqlite`, defaults, random: randomBytes });
  const engine = buildEngine(config, { source, store, defaults, logger, now });
  const server = await buildServer(config, { ...engine, store, defaults, authenticator, logger, now });
  // Where there is something to serve, it must not be older than what devices saw.
  if ((await store.state()).seeded) await engine.reconciler.prepare();
  const address = await server.listen({ host: config.HOST, port: config.PORT });
  logger.info({ address, desiredState: resolve(config.DESIRED_STATE), data }, 'listening');
  await engine.reconciler.start();
  const stopExpiry = expireReports(store, config.REPORT_TTL * 1000, logger);
  const close = async (): Promise<void> => {
    stopExpiry();
    await server.close();
    await engine.writer.close();
    await engine.reconciler.close();
    await engine.recorder.close();
    await Promise.all([source.reader.close(), source.publisher.close()]);
    await store.close();
  };
  return { address, close };
}

async function openDataFolder(path: string): Promise<string> {
  const folder = resolve(path);
  await mkdir(folder, { recursive: true, mode: 0o700 });
  await chmod(folder, 0o700);
  return folder;
}

async function openAuthenticator(
  config: Config,
  data: string,
  { logger, announce }: ServiceEnvironment,
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
  return createAuthenticator([account], Date.now);
}

async function openSource(config: Config, { env, logger }: ServiceEnvironment): Promise<Source> {
  const machine = { env, timeLimit: GIT_TIME_LIMIT };
  const source = await openCheckout(resolve(config.DESIRED_STATE), config.GIT_BRANCH, machine);
  if (source.isNew)
    logger.warn(
      { folder: source.repository.context.folder },
      'the folder was in no git repository: made one, with a first commit',
    );
  return source;
}

interface EngineParts {
  source: Source;
  store: Store;
  defaults: AppDefaults;
  logger: Logger;
  now(): number;
}

interface Engine {
  reconciler: Reconciler;
  recorder: Recorder;
  writer: Writer;
  info: InfoCache;
}

function buildEngine(config: Config, parts: EngineParts): Engine {
  const { source, store, defaults, logger, now } = parts;
  const { reader, publisher, record } = source;
  const onStatus = createRecordLog(logger);
  const recorder = createRecorder({ record, store, reader, now, random: Math.random, onStatus });
  const info = recordedInfo(recorder, {
    groupInfo: (name) => store.groupInfo(name),
    render: (group) => JSON.stringify(infoRecord(group)),
    lifetime: config.CACHE_TIME * 1000,
    now,
  });
  const reconciler = createReconciler({
    source,
    store,
    defaults,
    strict: config.STRICT,
    pollInterval: config.GIT_POLL_INTERVAL * 1000,
    now,
    random: Math.random,
    onApplied: (keys) => info.invalidate(keys),
    onPass: passListener(recorder, logger),
  });
  const writer = createWriter({ reconciler, reader, publisher, store, defaults, strict: config.STRICT, now });
  return { reconciler, recorder, writer, info };
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
function passListener(recorder: Recorder, logger: Logger): ReconcilerDependencies['onPass'] {
  const log = createPassLog(logger);
  return async (outcome, status) => {
    log(outcome, status);
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
  now(): number;
}

async function buildServer(config: Config, parts: ServerParts): Promise<FastifyInstance> {
  const { authenticator, logger, ...api } = parts;
  return createServer({
    api,
    authenticator,
    logger,
    bodyLimit: config.BODY_LIMIT,
    version: await productVersion(),
  });
}
