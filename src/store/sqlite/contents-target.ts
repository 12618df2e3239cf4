import { existsSync, statSync } from 'node:fs';
import { rename } from 'node:fs/promises';
import { basename, dirname } from 'node:path';
import { syncFolder } from '../../disk/sync.ts';
import { HoldfastError } from '../../errors.ts';
import type { Report } from '../../protocol/report.ts';
import type {
  ContentsObject,
  ContentsReport,
  ContentsState,
  ContentsTarget,
  Reached,
  ReachedParts,
} from '../contents.ts';
import { maxOid } from '../object-id.ts';
import type { OperationEntry } from '../operation.ts';
import { closeOnFailure, createFile, type Database, openCopyTarget, prepare } from './connection.ts';
import { KEYS, SqliteContents } from './contents.ts';
import { checkHeader, MIGRATIONS, migrate } from './migrations.ts';
import { Reports } from './reports.ts';
import { SUM_REPORT_BYTES } from './schema.ts';
import { inTransaction } from './transaction.ts';

/** Deletes all rows, and the state that they were copied from. */
const CLEAR = `
  DELETE FROM objects; DELETE FROM counters; DELETE FROM operations; DELETE FROM reports; DELETE FROM copied_from;`;

/** The target's file while it is open. */
interface Open {
  db: Database;
  contents: SqliteContents;
  inserts: Inserts;
}

/** Each inserts one row. */
interface Inserts {
  object(row: ContentsObject): void;
  operation(row: OperationEntry): void;
  report(row: ContentsReport): void;
}

/** Makes a new store at `path`. Until it is finished, the file has the suffix `.copy`. */
export class SqliteTarget implements ContentsTarget {
  readonly #path: string;
  #open: Open | null = null;

  constructor(path: string) {
    this.#path = path;
  }

  async begin(state: ContentsState): Promise<void> {
    requireFree(this.#path);
    const unfinished = `${this.#path}.copy`;
    createFile(unfinished);
    const db = openCopyTarget(unfinished);
    closeOnFailure(db, () => {
      checkUnfinished(db);
      migrate(db, MIGRATIONS, state.fleet);
    });
    this.#open = { db, contents: new SqliteContents(db), inserts: prepareInserts(db) };
    if ((await this.state()).fleet !== state.fleet)
      throw new HoldfastError(
        'invalid',
        'the target contains an unfinished copy of another store; delete it first',
      );
    const source = JSON.stringify(state);
    if (copiedFrom(db) === source) return;
    await this.clear();
    prepare(db, 'INSERT INTO copied_from VALUES (?)').run(source);
  }

  async reached(): Promise<ReachedParts> {
    const { db } = this.#begun;
    return {
      objects: readReached<string>(db, `SELECT count(*) AS rows, max(key) AS last FROM (${KEYS})`),
      operations: readReached<number>(db, 'SELECT count(*) AS rows, max(id) AS last FROM operations'),
      reports: readReached<string>(db, 'SELECT count(*) AS rows, max(oid) AS last FROM reports'),
    };
  }

  async clear(): Promise<void> {
    const { db } = this.#begun;
    inTransaction(db, () => db.exec(CLEAR));
  }

  state(): Promise<ContentsState> {
    return this.#begun.contents.state();
  }

  objects(after: string | null, limit: number): Promise<ContentsObject[]> {
    return this.#begun.contents.objects(after, limit);
  }

  operations(after: number | null, limit: number): Promise<OperationEntry[]> {
    return this.#begun.contents.operations(after, limit);
  }

  reports(after: string | null, limit: number): Promise<ContentsReport[]> {
    return this.#begun.contents.reports(after, limit);
  }

  async putObjects(rows: readonly ContentsObject[]): Promise<void> {
    this.#insert(rows, this.#begun.inserts.object);
  }

  async putOperations(rows: readonly OperationEntry[]): Promise<void> {
    this.#insert(rows, this.#begun.inserts.operation);
  }

  async putReports(rows: readonly ContentsReport[]): Promise<void> {
    this.#insert(rows, this.#begun.inserts.report);
  }

  async finish(state: ContentsState): Promise<void> {
    const { db } = this.#begun;
    const { attempted, applied } = state;
    const newest = prepare<{ oid: string | null }>(db, 'SELECT max(oid) AS oid FROM reports').get();
    const lastOid = maxOid(state.lastOid, newest?.oid ?? null);
    prepare(
      db,
      `UPDATE state SET sequence = ?, claimed = ?, attempted_revision = ?, attempted_at = ?, applied_revision = ?,
       applied_at = ?, rules = ?, default_floor = ?, id_sequence = ?, last_oid = ?, seeded_from = ?`,
    ).run(
      ...[state.sequence, state.claimed, attempted?.revision ?? null, attempted?.at ?? null],
      ...[applied?.revision ?? null, applied?.at ?? null, state.rules],
      ...[state.defaultFloor, state.idSequence, lastOid],
      state.seededFrom === null ? null : JSON.stringify(state.seededFrom),
    );
    db.exec(`${SUM_REPORT_BYTES} DROP TABLE copied_from`);
    this.#open = null;
    db.close();
    await rename(`${this.#path}.copy`, this.#path);
    await syncFolder(dirname(this.#path));
  }

  async close(): Promise<void> {
    const open = this.#open;
    this.#open = null;
    open?.db.close();
  }

  #insert<Row>(rows: readonly Row[], insert: (row: Row) => void): void {
    inTransaction(this.#begun.db, () => {
      for (const row of rows) insert(row);
    });
  }

  get #begun(): Open {
    if (this.#open === null) throw new HoldfastError('internal', 'the copy has not begun');
    return this.#open;
  }
}

/**
 * Throws `invalid` if there is a store at this path, or the log or journal of one: SQLite would add what is in it to the
 * copy. A manager that was stopped leaves an empty log.
 */
function requireFree(path: string): void {
  if (existsSync(path)) throw new HoldfastError('invalid', 'the target already contains a store');
  for (const log of [`${path}-wal`, `${path}-journal`]) {
    if ((statSync(log, { throwIfNoEntry: false })?.size ?? 0) === 0) continue;
    const message = `the target contains the log of another store (${basename(log)}); delete it first`;
    throw new HoldfastError('invalid', message);
  }
}

/** Statements are prepared once, because the driver frees their memory only when they are garbage-collected. */
function prepareInserts(db: Database): Inserts {
  const operation = prepare(db, 'INSERT INTO operations VALUES (?, ?, ?, ?, ?, ?, ?)');
  const reports = new Reports(db);
  return {
    object: prepareObjectInsert(db),
    operation: ({ id, at, actor, action, name, requestId, ids }) =>
      void operation.run(id, at, actor, action, name, requestId, JSON.stringify(ids)),
    report: ({ oid, arrived, body }) =>
      void reports.insert(oid, { report: JSON.parse(body) as Report, body }, arrived),
  };
}

function prepareObjectInsert(db: Database): Inserts['object'] {
  const counter = prepare(db, 'INSERT INTO counters VALUES (?, ?, ?, ?, ?, ?)');
  const object = prepare(db, 'INSERT INTO objects VALUES (?, ?, ?, ?, ?, ?, ?)');
  return ({ kind, name, own, prune, stored }) => {
    if (own !== null) counter.run(kind, name, own.last, own.floor, own.hash, own.changed);
    if (prune !== null) counter.run('prune', name, prune.last, prune.floor, prune.hash, prune.changed);
    if (stored === null) return;
    const { oid, content, hash, origin } = stored;
    const { path, blob } = origin ?? { path: null, blob: null };
    object.run(kind, name, oid, content, hash, path, blob);
  };
}

/**
 * Returns the state of the source, as JSON; null if no copy has begun. The table is dropped when the copy is finished.
 */
function copiedFrom(db: Database): string | null {
  db.exec('CREATE TABLE IF NOT EXISTS copied_from (head TEXT NOT NULL) STRICT');
  return prepare<{ head: string }>(db, 'SELECT head FROM copied_from').get()?.head ?? null;
}

function readReached<Place>(db: Database, sql: string): Reached<Place> {
  return prepare<Reached<Place>>(db, sql).get() ?? { rows: 0, last: null };
}

/** Throws `invalid` for a copy that another version began. The advice of `checkHeader` is for a manager's own store. */
function checkUnfinished(db: Database): void {
  try {
    checkHeader(db, MIGRATIONS);
  } catch (error) {
    const message = 'the target contains an unfinished copy by another version of Holdfast; delete it first';
    throw new HoldfastError('invalid', message, {}, error);
  }
}
