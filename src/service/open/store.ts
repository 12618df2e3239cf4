import { randomBytes } from 'node:crypto';
import { hostname } from 'node:os';
import type { Logger } from 'pino';
import type { AppDefaults } from '../../desired/app.ts';
import { HoldfastError } from '../../errors.ts';
import type { Config } from '../../settings.ts';
import type { MongoStore } from '../../store/mongo/open.ts';
import type { PollLease } from '../../store/poll-lease.ts';
import { openSqliteStore } from '../../store/sqlite/open.ts';
import type { SqliteStore } from '../../store/sqlite/store.ts';
import type { Store } from '../../store/store.ts';
import { checkMongoAddress } from './mongo-address.ts';

/** What the choice of a store depends on. */
export interface StorePlace {
  /** The data folder. */
  data: string;
  defaults: AppDefaults;
  logger: Logger;
  /** Milliseconds that pass, always rising. */
  elapsed(): number;
  /** From its abort on nothing waits for a database. */
  enough: AbortSignal;
}

export interface OpenedStore {
  store: Store;
  /** For the recorder of ids: reads them even when the store's files went away and it takes no more writes. */
  given: Pick<Store, 'state' | 'counters'>;
  /** Null if no other manager can poll origin for this one. */
  lease: PollLease | null;
}

/** The store in MongoDB where `MONGODB_URI` is set, and otherwise the one in the data folder. */
export async function openStore(config: Config, place: StorePlace): Promise<OpenedStore> {
  const { data, defaults, elapsed } = place;
  if (config.MONGODB_URI === null) {
    const path = `${data}/store.sqlite`;
    const store = await openEmbedded(path, defaults);
    const given = { state: () => store.lastState(), counters: (since: number) => store.counters(since) };
    return { store, given, lease: null };
  }
  const { store, pollLease } = await openShared(config.MONGODB_URI, config, place);
  const polls = config.GIT_REMOTE !== null && config.GIT_POLL_INTERVAL > 0;
  const interval = config.GIT_POLL_INTERVAL * 1000;
  const lease = polls ? pollLease({ name: `${hostname()}/${process.pid}`, interval, elapsed }) : null;
  return { store, given: store, lease };
}

/**
 * Adds the path to an error, and what to do. A damaged file is `invalid`, not `unavailable`: trying again does not help.
 */
async function openEmbedded(path: string, defaults: AppDefaults): Promise<SqliteStore> {
  try {
    return await openSqliteStore({ path, defaults, random: randomBytes });
  } catch (error) {
    if (!(error instanceof HoldfastError)) throw error;
    const { kind, message, details } = error;
    const isDamaged = /^SQLITE_(CORRUPT|NOTADB)/.test(String(details['code']));
    const code = details['code'] === undefined ? '' : `, ${details['code']}`;
    const hint = message.includes(' database') ? `; ${MOVE_AWAY}` : '';
    throw new HoldfastError(
      isDamaged ? 'invalid' : kind,
      `${message} (${path}${code})${hint}`,
      details,
      error,
    );
  }
}

const MOVE_AWAY =
  'restore a backup, or move it away together with its -wal and -shm files, and it is rebuilt from git';

async function openShared(
  uri: string,
  { MONGODB_DATABASE: database }: Config,
  { defaults, logger, enough }: StorePlace,
): Promise<MongoStore> {
  await checkMongoAddress(uri, 'MONGODB_URI');
  // The driver takes a good part of a start and of the memory: only who needs it loads it.
  const { openMongoStore } = await import('../../store/mongo/open.ts');
  return openMongoStore({
    uri,
    database,
    defaults,
    random: randomBytes,
    enough,
    onServer: ({ warnings, ...server }) => {
      logger.info({ ...server, database }, 'connected to the store');
      for (const warning of warnings) logger.warn(warning);
    },
    onAway: ({ message, cause }) => {
      const told = 'the store cannot be reached; the manager keeps trying, and devices get 503 until then';
      logger.error({ reason: message, err: cause }, told);
    },
  });
}
