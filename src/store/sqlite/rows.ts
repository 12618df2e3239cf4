import type { FileOrigin } from '../../plan/step.ts';

/**
 * The start of a statement that reads objects `o`, with the ids of their counters. CROSS JOIN makes SQLite read the
 * objects first.
 */
export const SELECT_OBJECTS = `
  SELECT o.name, o.oid, own.last AS id, o.content, o.hash, o.path, o.blob,
    coalesce(prune.last, 0) AS prune_id, max(own.changed, coalesce(prune.changed, 0)) AS changed
  FROM objects AS o CROSS JOIN counters AS own ON own.kind = o.kind AND own.name = o.name
  LEFT JOIN counters AS prune ON o.kind = 'device_group' AND prune.kind = 'prune' AND prune.name = o.name`;

/** Reads one object, by kind and name. */
export const FIND_OBJECT = `${SELECT_OBJECTS} WHERE o.kind = ? AND o.name = ?`;

/** Reads the names of all objects of a kind, in ascending order. */
export const NAMES = 'SELECT name FROM objects WHERE kind = ? ORDER BY name';

/** Returns the file of an object from its two columns. */
export function fileOrigin({ path, blob }: { path: string | null; blob: string | null }): FileOrigin | null {
  return path === null || blob === null ? null : { path, blob };
}
