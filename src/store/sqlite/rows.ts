import type { Kind } from '../../desired/name.ts';
import type { FileOrigin } from '../../plan/step.ts';
import type { ObjectRow } from '../rules/rows.ts';
import { type Database, prepare, type Statement } from './connection.ts';

export const TABLE_OF: Readonly<Record<Kind, string>> = { app: 'apps', device_group: 'device_groups' };

/** The statement that reads one object by its name. */
export function findObject(db: Database, kind: Kind): Statement<ObjectRow> {
  return prepare(db, `${selectObjects(kind)} WHERE o.name = ?`);
}

/** The start of a statement that reads objects `o` of a kind, with the ids of their counters. CROSS: objects come first. */
export function selectObjects(kind: Kind): string {
  const prune = kind === 'app' ? '0' : "(SELECT last FROM counters WHERE kind = 'prune' AND name = o.name)";
  return `
    SELECT o.name, o.oid, own.last AS id, ${prune} AS prune_id, o.content, o.hash FROM ${TABLE_OF[kind]} AS o
    CROSS JOIN counters AS own ON own.kind = '${kind}' AND own.name = o.name`;
}

/** The file of an object, which is kept in two columns. */
export function fileOrigin({ path, blob }: { path: string | null; blob: string | null }): FileOrigin | null {
  return path === null || blob === null ? null : { path, blob };
}
