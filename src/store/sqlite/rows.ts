import type { Kind } from '../../desired/name.ts';
import type { ObjectRow } from '../rules/rows.ts';
import { type Database, prepare, type Statement } from './connection.ts';

export const TABLE_OF: Readonly<Record<Kind, string>> = { app: 'apps', device_group: 'device_groups' };

/** The statement that reads one object by its name. */
export function findObject(db: Database, kind: Kind): Statement<ObjectRow> {
  const prune = kind === 'app' ? '0 AS prune_id' : 'prune_id';
  return prepare(db, `SELECT name, oid, id, ${prune}, content, hash FROM ${TABLE_OF[kind]} WHERE name = ?`);
}
