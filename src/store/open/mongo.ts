import { setTimeout as wait } from 'node:timers/promises';
import { HoldfastError } from '../../errors.ts';
import { Connection } from '../../mongo/connection.ts';
import type { ServerInfo } from '../../mongo/server-info.ts';
import type { AppDefaults } from '../../protocol/app.ts';
import { mongoAsks } from '../asks/mongo.ts';
import { mongoDevices } from '../devices/mongo.ts';
import { mongoIncidents } from '../incidents/mongo.ts';
import { MongoReports } from '../reports/mongo/reports.ts';
import { newFleetRoot } from '../root/documents.ts';
import { MongoDocuments } from '../root/mongo-documents.ts';
import { prepareSchema } from '../schema/mongo.ts';
import { documentPorts } from './mongo-ports.ts';
import type { Ports } from './ports.ts';

export interface MongoStoreOptions {
  /** Contains user and password: never logged, and never part of an error. */
  uri: string;
  database: string;
  /** Values for fields that a stored app lacks because they were added later. */
  defaults: AppDefaults;
  /** Returns `size` random bytes. */
  random(size: number): Uint8Array;
  /** The most bytes of all reports together; the oldest are deleted for new ones. Without a limit by default. */
  maxReportBytes?: number;
  /** Called each time the database has been reached and prepared. */
  onServer(info: ServerInfo): void;
  /** Called if the database cannot be reached at the start; later calls try again. */
  onUnavailable(error: HoldfastError): void;
  /** Once it is aborted, no call waits for the database: calls in progress reject as `unavailable`. */
  signal?: AbortSignal;
}

const FLEET_BYTES = 16;
const MANAGER_BYTES = 8;
const LONGEST_PAUSE = 100;
/** Characters: far below the 16 MiB that a document can have, and enough for a pass with a thousand apps. */
const INLINE_LIMIT = 1_000_000;

/**
 * Opens the store. Rejects as `invalid` if the URI cannot be read or the database must not be used (see
 * `prepareSchema`). Resolves even if the database cannot be reached: every call rejects as `unavailable` until it can.
 */
export async function openMongoStore(options: MongoStoreOptions): Promise<Ports> {
  const { defaults, random, maxReportBytes = Number.POSITIVE_INFINITY, onUnavailable } = options;
  const connection = new Connection({
    ...options,
    prepare: (db) => prepareSchema(db, newFleetRoot(Buffer.from(random(FLEET_BYTES)).toString('hex'))),
  });
  try {
    await connection.open();
  } catch (error) {
    if (!(error instanceof HoldfastError) || error.kind !== 'unavailable') {
      await connection.close();
      throw error;
    }
    onUnavailable(error);
  }
  const documents = new MongoDocuments(connection);
  const ports = documentPorts({ documents, defaults, random, pause, inlineLimit: INLINE_LIMIT });
  const reports = new MongoReports(connection, maxReportBytes);
  const close = async (): Promise<void> => {
    await Promise.all([ports.close(), reports.close()]);
    await connection.close();
  };
  const devices = mongoDevices({ connection, served: () => ports.store.served() });
  const incidents = mongoIncidents(connection, Buffer.from(random(MANAGER_BYTES)).toString('hex'));
  return { ...ports, reports, devices, asks: mongoAsks(connection), incidents, close };
}

/** Waits for a random time, so that two managers do not collide again and again. */
async function pause(attempt: number): Promise<void> {
  await wait(Math.random() * Math.min(LONGEST_PAUSE, 2 * (attempt + 1)));
}
