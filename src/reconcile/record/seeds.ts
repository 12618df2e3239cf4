import { classifyPath } from '../../desired/file.ts';
import type { CounterKind, CounterRow, CounterSeed } from '../../store/store.ts';
import type { Breach } from '../continuity.ts';
import { counterKey } from './format.ts';
import type { Trust } from './trust.ts';

/** What is known of the past, from three sides; each says more than the one before. */
export interface Past {
  /** Every path that the folder ever had. */
  paths: Iterable<string>;
  /** The counters of the store itself. */
  stored: readonly CounterRow[];
  recorded: readonly CounterRow[];
  /** What it means for the counters of the store. */
  scope: Breach;
}

/**
 * One seed for each counter that anybody knows, with this floor; by `scope`, fewer. Where nobody can say how far it got, every
 * id below the floor counts as given: a store that is restored later, with one of these, has to learn that it is outdated.
 */
export function seedsOf(
  { paths, stored, recorded, scope }: Past,
  isTrusted: Trust,
  floor: number,
): CounterSeed[] {
  const seeds = new Map<string, CounterSeed>();
  const add = (row: CounterRow): void => void seeds.set(counterKey(row), { ...row, floor });
  for (const path of paths) for (const row of rowsOfPath(path, floor - 1)) add(row);
  for (const row of stored) {
    if (scope === 'keep') seeds.delete(counterKey(row));
    else if (scope === 'raise' || !seeds.has(counterKey(row))) add(row);
  }
  for (const row of recorded) add(isKept(row, isTrusted) ? row : { ...row, last: floor - 1, hash: null });
  return [...seeds.values()];
}

function isKept(row: CounterRow, isTrusted: Trust): boolean {
  return row.kind === 'prune' || isTrusted(counterKey(row));
}

/** The highest id in any of these rows; 0 where there is none. */
export function highestId(rows: readonly CounterRow[]): number {
  return rows.reduce((highest, { last }) => Math.max(highest, last), 0);
}

function rowsOfPath(path: string, last: number): CounterRow[] {
  const role = classifyPath(path);
  if (role.role !== 'object') return [];
  const { kind, name } = role;
  const kinds: CounterKind[] = kind === 'app' ? [kind] : [kind, 'prune'];
  return kinds.map((one) => ({ kind: one, name, last, hash: null }));
}
