import { chmod, mkdir } from 'node:fs/promises';
import { resolve } from 'node:path';
import { setTimeout as wait } from 'node:timers/promises';
import type { FastifyInstance } from 'fastify';
import type { Logger } from 'pino';
import type { Writer } from '../change/write.ts';
import { createWriter } from '../change/writer.ts';
import { type AppDefaults, appDefaults } from '../desired/app.ts';
import { adminAccount, identity } from '../http/admin.ts';
import { type Authenticator, allowEverybody, createAuthenticator } from '../http/authentication.ts';
import { createInfoCache, type InfoCache } from '../http/info-cache.ts';
import { infoRecord } from '../http/records.ts';
import { createServer } from '../http/server.ts';
import { createReconciler, type Reconciler } from '../reconcile/reconciler.ts';
import { type Config, shownSettings } from '../settings.ts';
import { openCheckout } from '../source/git/checkout.ts';
import type { Source } from '../source/source.ts';
import type { Store } from '../store/store.ts';
import { expireReports } from './expiry.ts';
import { openStore } from './open-store.ts';
import { createPassLog } from './pass-log.ts';
import { productVersion } from './version.ts';

/** What the service takes from the process that it runs in. */
export interface ServiceEnvironment {
  env: Readonly<Record<string, string | undefined>>;
  logger: Logger;
  /** Shows a text to the person at the terminal, outside the log. */
  announce(text: string): void;
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
  const authenticator = await openAuthenticator(config, data, environment);
  const source = await openSource(config, environment);
  const defaults = appDefaults(config.DEFAULT_NETWORKS);
  const store = await openStore(config, { data, defaults, logger });
  const engine = buildEngine(config, { source, store, defaults, logger });
  const server = await buildServer(config, { ...engine, store, defaults, authenticator, logger });
  const address = await server.listen({ host: config.HOST, port: config.PORT });
  logger.info({ address, desiredState: resolve(config.DESIRED_STATE), data }, 'listening');
  await engine.reconciler.start();
  const stopExpiry = expireReports(store, config.REPORT_TTL * 1000, logger);
  const close = async (): Promise<void> => {
    stopExpiry();
    await server.close();
    await engine.writer.close();
    await engine.reconciler.close();
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
}

interface Engine {
  reconciler: Reconciler;
  writer: Writer;
  info: InfoCache;
}

function buildEngine(config: Config, { source, store, defaults, logger }: EngineParts): Engine {
  const now = Date.now;
  const info = createInfoCache({
    groupInfo: (name) => store.groupInfo(name),
    render: (group) => JSON.stringify(infoRecord(group)),
    lifetime: config.CACHE_TIME * 1000,
    now,
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
    onApplied: (keys) => info.invalidate(keys),
    onPass: createPassLog(logger),
  });
  const { reader, publisher } = source;
  const writer = createWriter({ reconciler, reader, publisher, store, defaults, strict: config.STRICT, now });
  return { reconciler, writer, info };
}

interface ServerParts extends Engine {
  store: Store;
  defaults: AppDefaults;
  authenticator: Authenticator;
  logger: Logger;
}

async function buildServer(config: Config, parts: ServerParts): Promise<FastifyInstance> {
  const { authenticator, logger, ...api } = parts;
  return createServer({
    api: { ...api, now: Date.now },
    authenticator,
    logger,
    bodyLimit: config.BODY_LIMIT,
    version: await productVersion(),
  });
}
