import { setTimeout as wait } from 'node:timers/promises';
import type { AppDefaults } from '../../desired/app.ts';
import { HoldfastError } from '../../errors.ts';
import type { PollLease } from '../poll-lease.ts';
import type { Store } from '../store.ts';
import { Connection } from './connection.ts';
import { MongoDocuments } from './mongo-documents.ts';
import { DocumentLease, type DocumentLeaseOptions } from './poll-lease.ts';
import { prepareSchema } from './schema.ts';
import type { ServerInfo } from './server-info.ts';
import { DocumentStore } from './store.ts';

export interface MongoStoreOptions {
  /** With user and password: never logged, and in no error. */
  uri: string;
  database: string;
  /** The values that a stored app gets for fields that it lacks because they are younger. */
  defaults: AppDefaults;
  /** So many random bytes. */
  random(size: number): Uint8Array;
  /** Called each time that the database was reached and prepared. */
  onServer(info: ServerInfo): void;
  /** Called when the database cannot be reached at the start; the store tries again with every call. */
  onAway(error: HoldfastError): void;
  /** From its abort on no call waits for the database: those that are under way reject as `unavailable`. */
  enough?: AbortSignal;
}

/** The store, and what managers that share it agree on beside it. */
export interface MongoStore {
  store: Store;
  /** The lease as one manager sees it. */
  pollLease(terms: Pick<DocumentLeaseOptions, 'name' | 'interval' | 'elapsed'>): PollLease;
}

const HOLDER_BYTES = 12;
const LONGEST_PAUSE = 100;
/** Far below the 16 MiB that a document may have; a pass of a thousand apps fits in. */
const INLINE_LIMIT = 1_000_000;

/**
 * Opens the store. Rejects as `invalid` where the URI cannot be read, or a newer version of the product wrote the
 * database. A database that is away now is no reason to fail: every call rejects as `unavailable` until it is there.
 */
export async function openMongoStore(options: MongoStoreOptions): Promise<MongoStore> {
  const { defaults, random, onAway } = options;
  const connection = new Connection({
    ...options,
    place: 'MONGODB_URI',
    prepare: (db) => prepareSchema(db, random),
  });
  try {
    await connection.open();
  } catch (error) {
    if (!(error instanceof HoldfastError) || error.kind !== 'unavailable') {
      await connection.close();
      throw error;
    }
    onAway(error);
  }
  const documents = new MongoDocuments(connection);
  const id = Buffer.from(random(HOLDER_BYTES)).toString('hex');
  return {
    store: new DocumentStore({ documents, defaults, random, pause, inlineLimit: INLINE_LIMIT }),
    pollLease: (terms) => new DocumentLease({ ...terms, documents, id }),
  };
}

/** Spread at random, so that two managers do not meet again and again. */
async function pause(attempt: number): Promise<void> {
  await wait(Math.random() * Math.min(LONGEST_PAUSE, 2 * (attempt + 1)));
}
