import type { Kind } from '../../desired/name.ts';
import type { FileOrigin } from '../../plan/step.ts';
import type { ObjectRow } from '../rules/rows.ts';
import { type Database, prepare, type Statement } from './connection.ts';

export const TABLE_OF: Readonly<Record<Kind, string>> = { app: 'apps', device_group: 'device_groups' };

/** The statement that reads one object by its name. */
export function findObject(db: Database, kind: Kind): Statement<ObjectRow> {
  const prune = kind === 'app' ? '0 AS prune_id' : 'prune_id';
  return prepare(db, `SELECT name, oid, id, ${prune}, content, hash FROM ${TABLE_OF[kind]} WHERE name = ?`);
}

/** The file of an object, which is kept in two columns. */
export function fileOrigin({ path, blob }: { path: string | null; blob: string | null }): FileOrigin | null {
  return path === null || blob === null ? null : { path, blob };
}
