import type { Database } from './connection.ts';

/** Runs `work` in one transaction of the writer: everything that it changes, or nothing when it throws. */
export function inTransaction<T>(db: Database, work: () => T): T {
  begin(db);
  try {
    const result = work();
    db.exec('COMMIT');
    return result;
  } catch (error) {
    rollBack(db);
    throw error;
  }
}

/**
 * The same for what may be lost with the power, as if it had not happened, until a later transaction is on the disk: the log
 * is written in order and synced as a whole.
 */
export function inLightTransaction<T>(db: Database, work: () => T): T {
  db.exec('PRAGMA synchronous = NORMAL');
  try {
    return inTransaction(db, work);
  } finally {
    db.exec('PRAGMA synchronous = FULL');
  }
}

/**
 * A transaction for work that gives way to others on its way. The caller sees to it that nothing else uses the
 * connection meanwhile.
 */
export async function inLongTransaction<T>(db: Database, work: () => Promise<T>): Promise<T> {
  begin(db);
  try {
    const result = await work();
    db.exec('COMMIT');
    return result;
  } catch (error) {
    rollBack(db);
    throw error;
  }
}

/** Runs reads that all see the same moment. */
export function inSnapshot<T>(db: Database, read: () => T): T {
  db.exec('BEGIN');
  try {
    return read();
  } finally {
    rollBack(db);
  }
}

/** IMMEDIATE: a lock that another process holds is met here, before anything has changed. */
function begin(db: Database): void {
  rollBack(db);
  db.exec('BEGIN IMMEDIATE');
}

/** Some failures make SQLite roll back by itself; a rollback that fails is tried again by the next `begin`. */
function rollBack(db: Database): void {
  try {
    if (db.isTransaction) db.exec('ROLLBACK');
  } catch {
    // The failure that led here is the one to tell.
  }
}
