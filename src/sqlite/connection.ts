import { accessSync, closeSync, constants, existsSync, openSync } from 'node:fs';
import { pathToFileURL } from 'node:url';
import { DatabaseSync } from '@photostructure/sqlite';
import { HoldfastError } from '../errors.ts';

export type Database = InstanceType<typeof DatabaseSync>;
export type SqlValue = string | number | Uint8Array | null;

/** A compiled statement. `Row` is the type of its rows. */
export interface Statement<Row> {
  get(...values: SqlValue[]): Row | undefined;
  all(...values: SqlValue[]): Row[];
  /** Runs a change. `changes` is the number of rows that it affected. */
  run(...values: SqlValue[]): { changes: number };
}

/** Compiles a statement. */
export function prepare<Row>(db: Database, sql: string): Statement<Row> {
  return db.prepare(sql);
}

/**
 * How long a call waits for another process that holds a lock on the file, in milliseconds. The wait blocks the event
 * loop, so it is only long enough for the short locks of a backup or a shell.
 */
const BUSY_TIMEOUT = 1000;

/**
 * The connections of a store. The reader sees the writer's transactions once they are committed, and never waits for
 * them.
 */
export interface Connections {
  writer: Database;
  reader: Database;
}

/** Creates the file if it is missing, readable only by its owner. */
export function createFile(path: string): void {
  try {
    closeSync(openSync(path, 'wx', 0o600));
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== 'EEXIST') throw error;
  }
}

/** Opens the connection that makes all changes. SQLite copies the log into the file whenever it has 1,000 pages. */
export function openWriter(path: string): Database {
  const db = new DatabaseSync(path, { timeout: BUSY_TIMEOUT });
  return closeOnFailure(db, () => {
    useWriteAheadLog(db);
    db.exec('PRAGMA synchronous = FULL; PRAGMA journal_size_limit = 67108864');
    return db;
  });
}

/**
 * Opens a file, which is created if missing, and locks it: no other process can open it until the connection is closed.
 */
export function openExclusively(path: string): Database {
  createFile(path);
  // SQLite would open a read-only file for reading, and the lock would then not exclude anyone.
  accessSync(path, constants.W_OK);
  const db = new DatabaseSync(path, { timeout: 0 });
  return closeOnFailure(db, () => {
    db.exec('PRAGMA locking_mode = EXCLUSIVE; BEGIN EXCLUSIVE');
    return db;
  });
}

/** Runs `work`, and closes the connection if it throws. */
export function closeOnFailure<T>(db: Database, work: () => T): T {
  try {
    return work();
  } catch (error) {
    db.close();
    throw error;
  }
}

/**
 * Undoes a transaction that was interrupted before the file had a write-ahead log; until that is done, SQLite refuses
 * read-only connections. Errors are ignored, since the next connection reports them.
 */
export function rollBackJournal(path: string): void {
  if (!existsSync(`${path}-journal`)) return;
  const db = new DatabaseSync(path, { timeout: BUSY_TIMEOUT });
  try {
    prepare(db, 'PRAGMA schema_version').get();
  } catch {
    // The file is damaged, or not a database.
  } finally {
    db.close();
  }
}

/** Opens a read-only connection. Does not read the file yet. */
export function openReader(path: string): Database {
  return new DatabaseSync(path, { timeout: BUSY_TIMEOUT, readOnly: true });
}

/** Opens a read-only connection that reads the file without its write-ahead log. */
export function openWithoutLog(path: string): Database {
  return new DatabaseSync(`${pathToFileURL(path)}?immutable=1`, { readOnly: true });
}

/**
 * Closes both connections, and leaves all data in the one file. The driver cannot finalize statements, so SQLite
 * releases its file handles and deletes the log only when the statements are garbage-collected; until then, the log is
 * empty.
 */
export function closeConnections({ reader, writer }: Connections): void {
  if (reader.isOpen) reader.close();
  if (!writer.isOpen) return;
  try {
    writer.exec('PRAGMA wal_checkpoint(TRUNCATE)');
  } catch {
    // Nothing is lost: the next process reads the log.
  }
  writer.close();
}

function useWriteAheadLog(db: Database): void {
  const mode = prepare<{ journal_mode: string }>(db, 'PRAGMA journal_mode = WAL').get()?.journal_mode;
  if (mode === 'wal') return;
  const message = `the store cannot use a write-ahead log on this file system (it offers ${mode}); move it to a local disk`;
  throw new HoldfastError('unavailable', message);
}
