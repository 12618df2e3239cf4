import { randomBytes } from 'node:crypto';
import type { Logger } from 'pino';
import type { AppDefaults } from '../desired/app.ts';
import type { Config } from '../settings.ts';
import { openSqliteStore } from '../store/sqlite/open.ts';
import type { Store } from '../store/store.ts';

/** What the choice of a store depends on. */
export interface StorePlace {
  /** The data folder. */
  data: string;
  defaults: AppDefaults;
  logger: Logger;
}

/** The store in MongoDB where `MONGODB_URI` is set, and otherwise the one in the data folder. */
export async function openStore(config: Config, { data, defaults, logger }: StorePlace): Promise<Store> {
  const { MONGODB_URI: uri, MONGODB_DATABASE: database } = config;
  if (uri === null) return openSqliteStore({ path: `${data}/store.sqlite`, defaults, random: randomBytes });
  // The driver takes a good part of a start and of the memory: only who needs it loads it.
  const { openMongoStore } = await import('../store/mongo/open.ts');
  return openMongoStore({
    uri,
    database,
    defaults,
    random: randomBytes,
    onServer: ({ warnings, ...server }) => {
      logger.info({ ...server, database }, 'the store is reached');
      for (const warning of warnings) logger.warn(warning);
    },
    onAway: ({ message, cause }) => {
      const told = 'the store cannot be reached; until it is, devices get 503, and it is tried again';
      logger.error({ reason: message, err: cause }, told);
    },
  });
}
