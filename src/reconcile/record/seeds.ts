import { classifyPath } from '../../desired/file.ts';
import { keyOf } from '../../desired/name.ts';
import type { CounterKind, CounterRow, CounterSeed } from '../../store/store.ts';
import type { Trust } from './trust.ts';

/** What is known of the past, from three sides; each says more than the one before. */
export interface Past {
  /** Every path that the folder ever had. */
  paths: Iterable<string>;
  /** The counters of the store itself. */
  stored: readonly CounterRow[];
  recorded: readonly CounterRow[];
}

/** One seed for each counter that anybody knows, with this floor. */
export function seedsOf({ paths, stored, recorded }: Past, isTrusted: Trust, floor: number): CounterSeed[] {
  const seeds = new Map<string, CounterSeed>();
  const add = (row: CounterRow): void => void seeds.set(`${row.kind}/${row.name}`, { ...row, floor });
  for (const path of paths) for (const row of rowsOfPath(path)) add(row);
  for (const row of stored) add(row);
  for (const row of recorded) add(row.kind === 'prune' ? row : asFarAsTrusted(row, row.kind, isTrusted));
  return [...seeds.values()];
}

/** The highest id in any of these rows; 0 where there is none. */
export function highestId(rows: readonly CounterRow[]): number {
  return rows.reduce((highest, { last }) => Math.max(highest, last), 0);
}

function rowsOfPath(path: string): CounterRow[] {
  const role = classifyPath(path);
  if (role.role !== 'object') return [];
  const { kind, name } = role;
  const kinds: CounterKind[] = kind === 'app' ? [kind] : [kind, 'prune'];
  return kinds.map((one) => ({ kind: one, name, last: 0, hash: null }));
}

/**
 * Of an object that may have changed since, the recorded content proves nothing, and one more id than the recorded one
 * may have been given: with that number also a store of the time of the record takes its own object for outdated.
 */
function asFarAsTrusted(row: CounterRow, kind: 'app' | 'device_group', isTrusted: Trust): CounterRow {
  return isTrusted(keyOf(kind, row.name)) ? row : { ...row, last: row.last + 1, hash: null };
}
