import { existsSync } from 'node:fs';
import { rename } from 'node:fs/promises';
import type { Kind } from '../../desired/name.ts';
import { HoldfastError } from '../../errors.ts';
import type {
  Contents,
  ContentsCounter,
  ContentsHead,
  ContentsObject,
  ContentsReport,
  ContentsTarget,
} from '../contents.ts';
import type { Report } from '../report.ts';
import type { OperationEntry } from '../store.ts';
import {
  closeConnections,
  createFile,
  type Database,
  openReader,
  openWriter,
  prepare,
} from './connection.ts';
import { storeError } from './errors.ts';
import { checkHeader, MIGRATIONS, migrate } from './migrations.ts';
import { Reports } from './reports.ts';
import { StateReads } from './state.ts';
import { inTransaction } from './transaction.ts';

const OBJECTS = `
  SELECT keys.key, keys.kind, keys.name,
    o.last, o.floor, o.hash AS own_hash, o.changed,
    p.last AS prune_last, p.floor AS prune_floor, p.changed AS prune_changed,
    coalesce(a.oid, g.oid) AS oid, coalesce(a.content, g.content) AS content,
    coalesce(a.hash, g.hash) AS hash, coalesce(a.path, g.path) AS path, coalesce(a.blob, g.blob) AS blob
  FROM (SELECT DISTINCT iif(kind = 'app', 'app', 'device_group') AS kind, name,
      iif(kind = 'app', 'app/', 'device_group/') || name AS key FROM counters) AS keys
  LEFT JOIN counters AS o ON o.kind = keys.kind AND o.name = keys.name
  LEFT JOIN counters AS p ON keys.kind = 'device_group' AND p.kind = 'prune' AND p.name = keys.name
  LEFT JOIN apps AS a ON keys.kind = 'app' AND a.name = keys.name
  LEFT JOIN device_groups AS g ON keys.kind = 'device_group' AND g.name = keys.name
  WHERE keys.key > ? ORDER BY keys.key LIMIT ?`;

interface ObjectsRow {
  key: string;
  kind: Kind;
  name: string;
  last: number | null;
  floor: number | null;
  own_hash: string | null;
  changed: number | null;
  prune_last: number | null;
  prune_floor: number | null;
  prune_changed: number | null;
  oid: string | null;
  content: string | null;
  hash: string | null;
  path: string | null;
  blob: string | null;
}

interface OperationsRow extends Omit<OperationEntry, 'ids' | 'requestId'> {
  request_id: string;
  ids: string;
}

/** Everything in the store of this file; it is opened for reading only. */
export function sqliteContents(path: string): Contents {
  try {
    const db = openReader(path);
    checkHeader(db, MIGRATIONS);
    return new SqliteContents(db);
  } catch (error) {
    throw storeError(error);
  }
}

/** A new store at this path, which is under another name until it is finished. */
export function sqliteTarget(path: string): ContentsTarget {
  return new SqliteTarget(path);
}

class SqliteContents implements Contents {
  protected readonly db: Database;

  constructor(db: Database) {
    this.db = db;
  }

  async head(): Promise<ContentsHead> {
    return new StateReads(this.db).whole();
  }

  async objects(after: string | null, limit: number): Promise<ContentsObject[]> {
    return prepare<ObjectsRow>(this.db, OBJECTS)
      .all(after ?? '', limit)
      .map(contentsObject);
  }

  async operations(after: number | null, limit: number): Promise<OperationEntry[]> {
    const sql = 'SELECT * FROM operations WHERE id > ? ORDER BY id LIMIT ?';
    const rows = prepare<OperationsRow>(this.db, sql).all(after ?? 0, limit);
    return rows.map(({ id, at, actor, action, name, request_id: requestId, ids }) => {
      return { id, at, actor, action, name, requestId, ids: JSON.parse(ids) as Record<string, number> };
    });
  }

  async reports(after: string | null, limit: number): Promise<ContentsReport[]> {
    const sql = 'SELECT oid, arrived, body FROM reports WHERE oid > ? ORDER BY oid LIMIT ?';
    const rows = prepare<ContentsReport>(this.db, sql).all(after ?? '', limit);
    return rows.map(({ oid, arrived, body }) => ({ oid, arrived, body }));
  }

  async close(): Promise<void> {
    this.db.close();
  }
}

class SqliteTarget implements ContentsTarget {
  readonly #path: string;
  #open: { db: Database; contents: SqliteContents } | null = null;

  constructor(path: string) {
    this.#path = path;
  }

  async begin(fleet: string): Promise<void> {
    if (existsSync(this.#path)) throw new HoldfastError('invalid', 'there is a store at the target already');
    const work = `${this.#path}.copy`;
    createFile(work);
    const db = openWriter(work);
    migrate(db, MIGRATIONS, fleet);
    this.#open = { db, contents: new SqliteContents(db) };
    if ((await this.head()).fleet === fleet) return;
    throw new HoldfastError('invalid', 'the target is the unfinished copy of another store; delete it first');
  }

  head(): Promise<ContentsHead> {
    return this.#begun.contents.head();
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
    const { db } = this.#begun;
    inTransaction(db, () => {
      for (const row of rows) putObject(db, row);
    });
  }

  async putOperations(rows: readonly OperationEntry[]): Promise<void> {
    const { db } = this.#begun;
    const put = prepare(db, 'INSERT OR REPLACE INTO operations VALUES (?, ?, ?, ?, ?, ?, ?)');
    inTransaction(db, () => {
      for (const { id, at, actor, action, name, requestId, ids } of rows)
        put.run(id, at, actor, action, name, requestId, JSON.stringify(ids));
    });
  }

  async putReports(rows: readonly ContentsReport[]): Promise<void> {
    const { db } = this.#begun;
    const reports = new Reports(db);
    const isThere = prepare<{ oid: string }>(db, 'SELECT oid FROM reports WHERE oid = ?');
    inTransaction(db, () => {
      for (const { oid, arrived, body } of rows)
        if (isThere.get(oid) === undefined) reports.insert(oid, JSON.parse(body) as Report, arrived);
    });
  }

  async finish(head: ContentsHead): Promise<void> {
    const { db } = this.#begun;
    const { attempted, applied } = head;
    const newest =
      prepare<{ oid: string | null }>(db, 'SELECT max(oid) AS oid FROM reports').get()?.oid ?? null;
    const lastOid =
      [head.lastOid, newest]
        .filter((oid) => oid !== null)
        .sort()
        .at(-1) ?? null;
    prepare(
      db,
      `UPDATE state SET sequence = ?, claimed = ?, attempted_revision = ?, attempted_at = ?, applied_revision = ?,
       applied_at = ?, rules = ?, seeded = ?, floor_of_others = ?, id_sequence = ?, last_oid = ?`,
    ).run(
      ...[head.sequence, head.claimed, attempted?.revision ?? null, attempted?.at ?? null],
      ...[applied?.revision ?? null, applied?.at ?? null, head.rules, Number(head.seeded)],
      ...[head.floorOfOthers, head.idSequence, lastOid],
    );
    // The log and its index go by the file's name, which is about to change; the next start makes new ones.
    db.exec('PRAGMA journal_mode = DELETE');
    this.#open = null;
    db.close();
    await rename(`${this.#path}.copy`, this.#path);
  }

  async close(): Promise<void> {
    const open = this.#open;
    this.#open = null;
    if (open !== null) closeConnections({ reader: open.db, writer: open.db });
  }

  get #begun(): { db: Database; contents: SqliteContents } {
    if (this.#open === null) throw new HoldfastError('internal', 'the copy has not begun');
    return this.#open;
  }
}

function putObject(db: Database, { kind, name, own, prune, stored }: ContentsObject): void {
  const counter = prepare(db, 'INSERT OR REPLACE INTO counters VALUES (?, ?, ?, ?, ?, ?)');
  if (own !== null) counter.run(kind, name, own.last, own.floor, own.hash, own.changed);
  if (prune !== null) counter.run('prune', name, prune.last, prune.floor, prune.hash, prune.changed);
  if (stored === null) return;
  const { oid, content, hash, origin } = stored;
  const [path, blob] = [origin?.path ?? null, origin?.blob ?? null];
  const id = own?.last ?? 0;
  if (kind === 'app') {
    prepare(db, 'INSERT OR REPLACE INTO apps VALUES (?, ?, ?, ?, ?, ?, ?)').run(
      name,
      oid,
      id,
      content,
      hash,
      path,
      blob,
    );
  } else {
    const sql = 'INSERT OR REPLACE INTO device_groups VALUES (?, ?, ?, ?, ?, ?, ?, ?)';
    prepare(db, sql).run(name, oid, id, prune?.last ?? 0, content, hash, path, blob);
  }
}

function contentsObject(row: ObjectsRow): ContentsObject {
  const { key, kind, name, oid, content, hash, path, blob } = row;
  const origin = path === null || blob === null ? null : { path, blob };
  return {
    key,
    kind,
    name,
    own: counter(row.last, row.floor, row.own_hash, row.changed),
    prune: counter(row.prune_last, row.prune_floor, null, row.prune_changed),
    stored: oid === null ? null : { oid, content: content ?? '', hash: hash ?? '', origin },
  };
}

function counter(
  last: number | null,
  floor: number | null,
  hash: string | null,
  changed: number | null,
): ContentsCounter | null {
  return last === null ? null : { last, floor: floor ?? 0, hash, changed: changed ?? 0 };
}
