import { open } from 'node:fs/promises';
import type { Database } from './connection.ts';

/**
 * The `synchronous` pragma of a transaction. With FULL, `COMMIT` waits until the log is on the disk. With NORMAL, a
 * loss of power can undo the transaction until the log is synced again, as by the next FULL transaction.
 */
export type Level = 'FULL' | 'NORMAL';

/** Runs `work` in one transaction, which is rolled back if `work` throws. */
export function inTransaction<T>(db: Database, work: () => T, level: Level = 'FULL'): T {
  begin(db, level);
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
 * `inTransaction` for work that yields to other work. The caller must let nothing else use the connection meanwhile.
 */
export async function inAsyncTransaction<T>(
  db: Database,
  work: () => Promise<T>,
  level: Level = 'FULL',
): Promise<T> {
  begin(db, level);
  try {
    const result = await work();
    db.exec('COMMIT');
    return result;
  } catch (error) {
    rollBack(db);
    throw error;
  }
}

/**
 * `inAsyncTransaction` for work that changes so much that `COMMIT` would block the event loop for long. Its pages leave the
 * cache for the log while it runs, and are synced before `COMMIT`.
 */
export function inLargeTransaction<T>(db: Database, work: () => Promise<T>): Promise<T> {
  return inAsyncTransaction(db, async () => {
    const result = await work();
    // Errors are ignored, since `COMMIT` syncs the log again and reports them.
    await withLogSynced(db, async () => undefined).catch(() => undefined);
    return result;
  });
}

/**
 * Runs `work`, and then syncs the log without blocking the event loop. The log is opened first, for two reasons:
 * nothing is written if that fails, and the operating system reports a failed write only to processes that had the file
 * open when the write failed.
 */
export async function withLogSynced<T>(db: Database, work: () => Promise<T>): Promise<T> {
  const log = await open(`${db.location() ?? ''}-wal`, 'r');
  try {
    const result = await work();
    await log.datasync();
    return result;
  } finally {
    await log.close();
  }
}

/** Runs reads on one snapshot. */
export function inSnapshot<T>(db: Database, read: () => T): T {
  rollBack(db);
  db.exec('BEGIN');
  try {
    return read();
  } finally {
    rollBack(db);
  }
}

/**
 * Begins a transaction. IMMEDIATE makes a lock of another process fail here, before anything has changed. The level is
 * set each time, so that a failed transaction cannot leave a lower one behind.
 */
function begin(db: Database, level: Level): void {
  rollBack(db);
  db.exec(`PRAGMA synchronous = ${level}`);
  db.exec('BEGIN IMMEDIATE');
}

/** Rolls back, unless SQLite has done so itself. A rollback that fails is retried before the next transaction. */
function rollBack(db: Database): void {
  try {
    if (db.isTransaction) db.exec('ROLLBACK');
  } catch {
    // The caller reports the error that made the rollback necessary.
  }
}
