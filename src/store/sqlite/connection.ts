import { accessSync, closeSync, constants, existsSync, openSync } from 'node:fs';
import { pathToFileURL } from 'node:url';
import { DatabaseSync } from '@photostructure/sqlite';
import { HoldfastError } from '../../errors.ts';

export type Database = InstanceType<typeof DatabaseSync>;
export type SqlValue = string | number | null;

/** A statement that was compiled once; `Row` is what its columns are. */
export interface Statement<Row> {
  get(...values: SqlValue[]): Row | undefined;
  all(...values: SqlValue[]): Row[];
  /** Runs a change; `changes` counts the rows that it touched. */
  run(...values: SqlValue[]): { changes: number };
}

export function prepare<Row>(db: Database, sql: string): Statement<Row> {
  return db.prepare(sql);
}

/**
 * How long a call waits for another process that holds the file, in milliseconds. The wait stops this whole
 * process, so it only has to outlast a backup's or a shell's short lock.
 */
const BUSY_TIMEOUT = 1000;

/** Both connections. The reader does not wait for the writer's transactions, and sees them when they are committed. */
export interface Connections {
  writer: Database;
  reader: Database;
}

/** Makes the file, readable by its owner alone, where there is none. */
export function createFile(path: string): void {
  try {
    closeSync(openSync(path, 'wx', 0o600));
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== 'EEXIST') throw error;
  }
}

/** The connection that makes all changes; each is on the disk when its transaction ends. */
export function openWriter(path: string): Database {
  const db = new DatabaseSync(path, { timeout: BUSY_TIMEOUT });
  return closeOnFailure(db, () => {
    useWriteAheadLog(db);
    db.exec('PRAGMA synchronous = FULL; PRAGMA journal_size_limit = 67108864');
    checkpointByItself(db, true);
    enlargeCache(db);
    return db;
  });
}

/**
 * A connection that fills a file that nobody else reads. It uses no write-ahead log: the log would keep the name that
 * the file has only until it is complete.
 */
export function openFiller(path: string): Database {
  const db = new DatabaseSync(path, { timeout: BUSY_TIMEOUT });
  return closeOnFailure(db, () => {
    db.exec('PRAGMA journal_mode = DELETE; PRAGMA synchronous = FULL');
    enlargeCache(db);
    return db;
  });
}

/** Takes a file, which is made where missing, so that no other process can open it until the connection is closed. */
export function openExclusively(path: string): Database {
  createFile(path);
  // SQLite would open it for reading only, and then the lock keeps nobody out.
  accessSync(path, constants.W_OK);
  const db = new DatabaseSync(path, { timeout: 0 });
  return closeOnFailure(db, () => {
    db.exec('PRAGMA locking_mode = EXCLUSIVE; BEGIN EXCLUSIVE');
    return db;
  });
}

/** Runs `work`, and closes the connection where that fails. */
export function closeOnFailure<T>(db: Database, work: () => T): T {
  try {
    return work();
  } catch (error) {
    db.close();
    throw error;
  }
}

/**
 * Undoes a transaction that was interrupted while the file had no write-ahead log yet: until then, SQLite refuses a
 * read-only connection. Whoever reads the file next reports what is wrong with it.
 */
export function rollBack(path: string): void {
  if (!existsSync(`${path}-journal`)) return;
  const db = new DatabaseSync(path, { timeout: BUSY_TIMEOUT });
  try {
    prepare(db, 'PRAGMA schema_version').get();
  } catch {
    // It is damaged, or no database.
  } finally {
    db.close();
  }
}

/** A read-only connection. It does not read the file yet. */
export function openReader(path: string): Database {
  return new DatabaseSync(path, { timeout: BUSY_TIMEOUT, readOnly: true });
}

/** A read-only connection that sees the file without its log. */
export function openAlone(path: string): Database {
  return new DatabaseSync(`${pathToFileURL(path)}?immutable=1`, { readOnly: true });
}

/** 16 MiB of the log: a page that changes again and again, as those of indexes do, goes into the file once. */
const CHECKPOINT_PAGES = 4000;

/** Turns automatic checkpoints on or off. */
export function checkpointByItself(db: Database, isOn: boolean): void {
  db.exec(`PRAGMA wal_autocheckpoint = ${isOn ? CHECKPOINT_PAGES : 0}`);
}

/** 16 MiB of pages: the upper levels of all indexes over a million reports. */
export function enlargeCache(db: Database): void {
  db.exec('PRAGMA cache_size = -16384');
}

/** 2 MiB, for reading many pages that are not needed again soon. */
export function shrinkCache(db: Database): void {
  db.exec('PRAGMA cache_size = -2048');
}

/** Runs a read of whole tables. */
export function withSmallCache<T>(db: Database, read: () => T): T {
  shrinkCache(db);
  try {
    return read();
  } finally {
    enlargeCache(db);
  }
}

/**
 * Closes both, and leaves everything in the one file. The driver cannot finalize statements, so SQLite releases its
 * handles and deletes the log only when they are garbage-collected; until then the log is empty.
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
  const message = 'the store cannot use a write-ahead log on this file system; move it to a local disk';
  throw new HoldfastError('unavailable', message, { journal_mode: mode });
}
