import { open } from 'node:fs/promises';
import { checkpointByItself, type Database, enlargeCache, shrinkCache } from './connection.ts';

/**
 * The `synchronous` of a transaction. With FULL, its `COMMIT` waits until the log is on the disk. With NORMAL, a loss of
 * power can undo it until a later one is on the disk: the log is written in order and synced as a whole.
 */
export type Level = 'FULL' | 'NORMAL';

/** Runs `work` in one transaction: everything that it changes is kept, or nothing when it throws. */
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

/** `inTransaction` for work that gives way to other work. The caller lets nothing else use the connection meanwhile. */
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
 * `inAsyncTransaction` for work that can change so much that its `COMMIT` would hold everything up. Its pages go to the
 * log while it runs, and are on the disk before `COMMIT` asks for that. The caller calls `checkpoint` afterwards.
 */
export async function inLargeTransaction<T>(db: Database, work: () => Promise<T>): Promise<T> {
  shrinkCache(db);
  checkpointByItself(db, false);
  try {
    return await inAsyncTransaction(db, async () => {
      const result = await work();
      // `COMMIT` asks for the same again, and that one counts.
      await withLogSynced(db, async () => undefined).catch(() => undefined);
      return result;
    });
  } finally {
    enlargeCache(db);
    checkpointByItself(db, true);
  }
}

/**
 * Runs `work`, and then waits, without holding up the event loop, until what it wrote to the log is on the disk. The
 * log is opened first, for two reasons: if that fails, nothing is written; and a failed write is reported only to
 * those who had the file open when it failed.
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

/** Copies the log into the file, as far as readers allow. What is left is done after a later commit. */
export function checkpoint(db: Database): void {
  try {
    db.exec('PRAGMA wal_checkpoint(PASSIVE)');
  } catch {
    // Nothing depends on it.
  }
}

/** Runs reads that all see the same snapshot. */
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
 * IMMEDIATE, so that a lock of another process fails here, before anything has changed. The level is set each time, so
 * that a failed transaction cannot leave a lower one behind.
 */
function begin(db: Database, level: Level): void {
  rollBack(db);
  db.exec(`PRAGMA synchronous = ${level}`);
  db.exec('BEGIN IMMEDIATE');
}

/** After some failures SQLite has rolled back by itself; a rollback that fails is retried before the next transaction. */
function rollBack(db: Database): void {
  try {
    if (db.isTransaction) db.exec('ROLLBACK');
  } catch {
    // The error that led here is the one to report.
  }
}
