import { randomBytes } from 'node:crypto';
import type { Logger } from 'pino';
import { factsOfFailure, HoldfastError, knownError } from '../../errors.ts';
import type { AppDefaults } from '../../protocol/app.ts';
import type { Config } from '../../settings/table.ts';
import type { Store } from '../../store/objects/port.ts';
import type { Ports } from '../../store/open/ports.ts';
import { openSqliteStore, type SqlitePorts } from '../../store/open/sqlite.ts';
import { checkMongoAddress } from './mongo-address.ts';

/** What opening a store needs beside the settings. */
export interface StoreEnvironment {
  /** The data folder. */
  data: string;
  defaults: AppDefaults;
  logger: Logger;
  /** Once it is aborted, no call to a database is waited for. */
  callDeadline: AbortSignal;
}

export interface OpenedStore extends Ports {
  /** The store as it is read for the record of ids: also after its files were removed and it refuses further writes. */
  idReader: Pick<Store, 'state' | 'counters'>;
}

/** Opens the store in MongoDB if `MONGODB_URI` is set, and otherwise the one in the data folder. */
export async function openStore(config: Config, environment: StoreEnvironment): Promise<OpenedStore> {
  const { data, defaults } = environment;
  if (config.MONGODB_URI === null) {
    const ports = await openEmbedded(`${data}/store.sqlite`, defaults, config.REPORTS_MAX_BYTES);
    const { store } = ports;
    const idReader = {
      state: () => store.lastState(),
      counters: (since: number) => store.counters(since),
    };
    return { ...ports, idReader };
  }
  const ports = await openShared(config.MONGODB_URI, config, environment);
  return { ...ports, idReader: ports.store };
}

/** Opens the store in SQLite. Errors are those of `errorOfFile`. */
async function openEmbedded(
  path: string,
  defaults: AppDefaults,
  maxReportBytes: number,
): Promise<SqlitePorts> {
  try {
    return await openSqliteStore({ path, defaults, random: randomBytes, maxReportBytes });
  } catch (error) {
    throw errorOfFile(path, error);
  }
}

/**
 * Returns the error of a store in SQLite that cannot be opened, with the name of the file. A damaged file is `invalid`, not
 * `unavailable`, since trying again does not help.
 */
function errorOfFile(path: string, error: unknown): unknown {
  const known = knownError(error);
  if (known?.kind !== 'invalid' && known?.kind !== 'unavailable') return error;
  const { kind, message, details } = known;
  const isDamaged = /^SQLITE_(CORRUPT|NOTADB)/.test(details.code ?? '');
  const code = details.code === undefined ? '' : `, ${details.code}`;
  return new HoldfastError(
    isDamaged ? 'invalid' : kind,
    `${message} (${path}${code})`,
    { ...(details.code !== undefined && { code: details.code }) },
    error,
  );
}

async function openShared(
  uri: string,
  { MONGODB_DATABASE: database, REPORTS_MAX_BYTES: maxReportBytes }: Config,
  { defaults, logger, callDeadline }: StoreEnvironment,
): Promise<Ports> {
  await checkMongoAddress(uri);
  // Loading the driver takes much of a start's time and memory, so only a manager that uses it does.
  const { openMongoStore } = await import('../../store/open/mongo.ts');
  return openMongoStore({
    uri,
    database,
    defaults,
    random: randomBytes,
    maxReportBytes,
    signal: callDeadline,
    onServer: ({ warnings, ...server }) => {
      logger.info({ ...server, database }, 'connected to the store');
      for (const warning of warnings) logger.warn(warning);
    },
    onUnavailable: (error) => {
      logger.error(
        factsOfFailure(error),
        'the store cannot be reached; the manager keeps trying, and devices get 503 until then',
      );
    },
  });
}
