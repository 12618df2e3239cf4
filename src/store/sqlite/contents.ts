import type { Kind } from '../../desired/name.ts';
import type { Contents, ContentsCounter, ContentsHead, ContentsObject, ContentsReport } from '../contents.ts';
import { type OperationRow, operationEntry } from '../operation-page.ts';
import type { OperationEntry } from '../store.ts';
import { closeOnFailure, type Database, openReader, prepare } from './connection.ts';
import { storeError } from './errors.ts';
import { checkLog } from './log.ts';
import { checkHeader, MIGRATIONS } from './migrations.ts';
import { OPERATION_COLUMNS } from './operations.ts';
import { fileOrigin } from './rows.ts';
import { StateReads } from './state.ts';

/** The key, kind and name of every app and group that is or was. */
export const KEYS = `
  SELECT DISTINCT iif(kind = 'app', 'app', 'device_group') AS kind, name,
    iif(kind = 'app', 'app/', 'device_group/') || name AS key FROM counters`;

const OBJECTS = `
  SELECT keys.key, keys.kind, keys.name,
    o.last, o.floor, o.hash AS own_hash, o.changed,
    p.last AS prune_last, p.floor AS prune_floor, p.changed AS prune_changed,
    coalesce(a.oid, g.oid) AS oid, coalesce(a.content, g.content) AS content,
    coalesce(a.hash, g.hash) AS hash, coalesce(a.path, g.path) AS path, coalesce(a.blob, g.blob) AS blob
  FROM (${KEYS}) AS keys
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

/** Everything in the store of this file; it is opened for reading only. */
export function sqliteContents(path: string): Contents {
  try {
    const db = openReader(path);
    return closeOnFailure(db, () => {
      checkHeader(db, MIGRATIONS);
      checkLog(path, db);
      return new SqliteContents(db);
    });
  } catch (error) {
    throw storeError(error);
  }
}

/** Everything that a connection sees. */
export class SqliteContents implements Contents {
  readonly #db: Database;

  constructor(db: Database) {
    this.#db = db;
  }

  async head(): Promise<ContentsHead> {
    return new StateReads(this.#db).whole();
  }

  async objects(after: string | null, limit: number): Promise<ContentsObject[]> {
    return prepare<ObjectsRow>(this.#db, OBJECTS)
      .all(after ?? '', limit)
      .map(contentsObject);
  }

  async operations(after: number | null, limit: number): Promise<OperationEntry[]> {
    const sql = `SELECT ${OPERATION_COLUMNS} FROM operations WHERE id > ? ORDER BY id LIMIT ?`;
    const rows = prepare<OperationRow>(this.#db, sql).all(after ?? 0, limit);
    return rows.map(operationEntry);
  }

  async reports(after: string | null, limit: number): Promise<ContentsReport[]> {
    const sql = 'SELECT oid, arrived, body FROM reports WHERE oid > ? ORDER BY oid LIMIT ?';
    const rows = prepare<ContentsReport>(this.#db, sql).all(after ?? '', limit);
    return rows.map(({ oid, arrived, body }) => ({ oid, arrived, body }));
  }

  async close(): Promise<void> {
    this.#db.close();
  }
}

function contentsObject(row: ObjectsRow): ContentsObject {
  const { key, kind, name, oid, content, hash } = row;
  return {
    key,
    kind,
    name,
    own: counter(row.last, row.floor, row.own_hash, row.changed),
    prune: counter(row.prune_last, row.prune_floor, null, row.prune_changed),
    stored: oid === null ? null : { oid, content: content ?? '', hash: hash ?? '', origin: fileOrigin(row) },
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
