import { randomBytes } from 'node:crypto';
import { MongoClient } from 'mongodb';
import { appDefaults } from '../../../src/protocol/app.ts';
import { openMongoStore } from '../../../src/store/open/mongo.ts';
import { joined, named, type SharedFlatStore } from '../../support/flat-store.ts';
import { foundOrRequired } from '../../support/tools.ts';
import type { OpenedStore, StoreOptions } from '../contract/support.ts';

/** The address of the server for tests, which `npm run test:mongo` and `.ci/run` set; undefined if there is none. */
const TEST_URI: string | undefined = process.env['HOLDFAST_TEST_MONGODB_URI'];

/** The server for tests, and a time limit (in milliseconds) for tests that make many calls. */
export const SERVER = {
  isMissing: !foundOrRequired('mongo', TEST_URI !== undefined),
  uri: TEST_URI ?? '',
  limits: { timeout: 240_000 },
};

/** Opens the store in a database, with the built-in defaults; rejects if the server cannot be reached. */
export async function openDatabase(
  database: string,
  uri = SERVER.uri,
  options: StoreOptions = {},
): Promise<SharedFlatStore> {
  const { store, shared, history, reports, devices, incidents, close } = await openMongoStore({
    uri,
    database,
    defaults: appDefaults(['nebula', 'bridge']),
    random: randomBytes,
    ...options,
    onServer: () => undefined,
    onUnavailable: (error) => {
      throw error;
    },
  });
  return joined<SharedFlatStore>({ close }, store, shared ?? {}, history, reports, devices, named(incidents));
}

/** An open store, and the name of its database. */
export interface OpenedDatabase extends OpenedStore<SharedFlatStore> {
  database: string;
}

/** Opens a store in a new database. */
export async function openInNewDatabase(options: StoreOptions = {}): Promise<OpenedDatabase> {
  const database = newDatabase();
  let current = await openDatabase(database, SERVER.uri, options);
  return {
    store: current,
    database,
    async reopen(changed = options) {
      await current.close();
      current = await openDatabase(database, SERVER.uri, changed);
      return current;
    },
    async cleanup() {
      await current.close();
      await dropDatabase(database);
    },
  };
}

/** Returns a random name for a database. */
export function newDatabase(): string {
  return `holdfast_test_${randomBytes(6).toString('hex')}`;
}

export async function dropDatabase(database: string): Promise<void> {
  await withClient((client) => client.db(database).dropDatabase());
}

/** Runs `work` with a client of the driver, past the store. */
export async function withClient<T>(work: (client: MongoClient) => Promise<T>): Promise<T> {
  const client = new MongoClient(SERVER.uri);
  try {
    return await work(client);
  } finally {
    await client.close();
  }
}
