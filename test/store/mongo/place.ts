import { randomBytes } from 'node:crypto';
import { MongoClient } from 'mongodb';
import { appDefaults } from '../../../src/desired/app.ts';
import { openMongoStore } from '../../../src/store/mongo/open.ts';
import type { Store } from '../../../src/store/store.ts';
import { foundOrRequired } from '../../support/tools.ts';
import type { OpenedStore } from '../contract/support.ts';

/** The server that tests of the MongoDB store use, as `npm run test:mongo` and `.ci/run` set it; undefined: none. */
const TEST_URI: string | undefined = process.env['HOLDFAST_TEST_MONGODB_URI'];

/** Whether there is one, and limits for tests of many calls against it. */
export const SERVER = {
  isMissing: !foundOrRequired('mongo', TEST_URI !== undefined),
  uri: TEST_URI ?? '',
  limits: { timeout: 240_000 },
};

/** Opens the store in this database, with the built-in defaults. */
export async function openDatabase(database: string, uri = SERVER.uri): Promise<Store> {
  const { store } = await openMongoStore({
    uri,
    database,
    defaults: appDefaults(['nebula', 'bridge']),
    random: randomBytes,
    onServer: () => undefined,
    onUnavailable: (error) => {
      throw error;
    },
  });
  return store;
}

export interface MongoPlace extends OpenedStore {
  database: string;
}

/** A new store in a database of its own. */
export async function openInNewDatabase(): Promise<MongoPlace> {
  const database = newDatabase();
  let current = await openDatabase(database);
  return {
    store: current,
    database,
    async reopen() {
      await current.close();
      current = await openDatabase(database);
      return current;
    },
    async cleanup() {
      await current.close();
      await dropDatabase(database);
    },
  };
}

export function newDatabase(): string {
  return `holdfast_test_${randomBytes(6).toString('hex')}`;
}

export async function dropDatabase(database: string): Promise<void> {
  await withClient((client) => client.db(database).dropDatabase());
}

/** Runs `work` with a plain client of the driver, as somebody from outside. */
export async function withClient<T>(work: (client: MongoClient) => Promise<T>): Promise<T> {
  const client = new MongoClient(SERVER.uri);
  try {
    return await work(client);
  } finally {
    await client.close();
  }
}
