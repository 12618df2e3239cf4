import { HoldfastError } from '../../errors.ts';
import type { CounterKind } from '../../ids/id-store.ts';
import { type Kind, keyOf, type ObjectKey, parseKey } from '../../protocol/name.ts';
import type {
  Contents,
  ContentsCounter,
  ContentsObject,
  ContentsReport,
  ContentsState,
} from '../contents.ts';
import type { OperationEntry } from '../operation.ts';
import { type OperationRow, operationEntry } from '../operation-page.ts';
import { closeOnFailure, type Database, openReader, prepare } from './connection.ts';
import { storeError } from './errors.ts';
import { checkLog } from './log.ts';
import { checkHeader, MIGRATIONS } from './migrations.ts';
import { OPERATION_COLUMNS } from './operations.ts';
import { fileOrigin } from './rows.ts';
import { StateReads } from './state.ts';

/** Selects the keys of all apps and groups, including deleted ones. */
export const KEYS = "SELECT DISTINCT iif(kind = 'app', 'app/', 'device_group/') || name AS key FROM counters";

/** Returns the statement that reads a page of a kind: `?2` rows with names after `?1`. */
function objectsOf(kind: Kind): string {
  const namesOf = (counters: CounterKind): string =>
    `SELECT name FROM counters WHERE kind = '${counters}' AND name > ?1`;
  const all = kind === 'app' ? namesOf('app') : `${namesOf('device_group')} UNION ${namesOf('prune')}`;
  return `
    SELECT '${kind}' AS kind, names.name, own.last, own.floor, own.hash AS own_hash, own.changed,
      p.last AS prune_last, p.floor AS prune_floor, p.changed AS prune_changed, o.oid, o.content, o.hash, o.path, o.blob
    FROM (${all} ORDER BY name LIMIT ?2) AS names
    LEFT JOIN counters AS own ON own.kind = '${kind}' AND own.name = names.name
    LEFT JOIN counters AS p ON '${kind}' = 'device_group' AND p.kind = 'prune' AND p.name = names.name
    LEFT JOIN objects AS o ON o.kind = '${kind}' AND o.name = names.name
    ORDER BY names.name`;
}

/** Sorts before every object. */
const BEFORE_ALL: ObjectKey = { kind: 'app', name: '' };

interface ObjectsRow {
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

/** Opens the store in this file for a copy, read-only. Throws `invalid` if the file is empty, and as `checkHeader` does. */
export function sqliteContents(path: string): Contents {
  try {
    const db = openReader(path);
    return closeOnFailure(db, () => {
      if (!checkHeader(db, MIGRATIONS))
        throw new HoldfastError('invalid', 'there is no store in DATA_DIR: its file is empty');
      checkLog(path, db);
      return new SqliteContents(db);
    });
  } catch (error) {
    throw storeError(error);
  }
}

/** Reads everything in a store. */
export class SqliteContents implements Contents {
  readonly #db: Database;

  constructor(db: Database) {
    this.#db = db;
  }

  async state(): Promise<ContentsState> {
    return new StateReads(this.#db).contentsState();
  }

  async objects(after: string | null, limit: number): Promise<ContentsObject[]> {
    const { kind, name } = after === null ? BEFORE_ALL : parseKey(after);
    if (kind === 'device_group') return this.#objects(kind, name, limit);
    const apps = this.#objects(kind, name, limit);
    return [...apps, ...this.#objects('device_group', '', limit - apps.length)];
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

  #objects(kind: Kind, after: string, limit: number): ContentsObject[] {
    return prepare<ObjectsRow>(this.#db, objectsOf(kind)).all(after, limit).map(contentsObject);
  }
}

function contentsObject(row: ObjectsRow): ContentsObject {
  const { kind, name, oid, content, hash } = row;
  return {
    key: keyOf(kind, name),
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
