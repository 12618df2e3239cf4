import { inTurns } from '../../async/pace.ts';
import { classifyPath } from '../../desired/file.ts';
import type { CounterKind, CounterRow, CounterSeed } from '../../store/store.ts';
import { counterKey } from '../record/format.ts';
import type { Breach } from './continuity.ts';
import type { Trust } from './trust.ts';

/** The counters of the past as three sources know them; each knows more than the one before. */
export interface KnownCounters {
  /** Every path that the folder ever had. */
  paths: Iterable<string>;
  /** The counters of the store itself. */
  stored: readonly CounterRow[];
  recorded: readonly CounterRow[];
  /** What is recorded of a line that the store has left: nothing of it is kept. */
  left: readonly CounterRow[];
  /** What it means for the counters of the store. */
  scope: Breach;
}

/**
 * One seed for each counter that any source knows, with this floor; by `scope`, fewer. If it is not known how far it
 * got, every id below the floor counts as given: a store that is restored later, with one of these, has to learn that
 * it is outdated. Gives way to others on its way.
 */
export async function seedsOf(
  { paths, stored, recorded, left, scope }: KnownCounters,
  isTrusted: Trust,
  floor: number,
): Promise<CounterSeed[]> {
  const seeds = new Map<string, CounterSeed>();
  const add = (row: CounterRow): void => void seeds.set(counterKey(row), { ...row, floor });
  await inTurns(paths, (path) => rowsOfPath(path, floor - 1).forEach(add));
  await inTurns(stored, (row) => {
    if (scope === 'keep') seeds.delete(counterKey(row));
    else if (scope === 'raise' || !seeds.has(counterKey(row))) add(row);
  });
  const addUnknown = (row: CounterRow): void => add({ ...row, last: floor - 1, hash: null });
  await inTurns(recorded, (row) => (isKept(row, isTrusted) ? add : addUnknown)(row));
  await inTurns(left, addUnknown);
  return [...seeds.values()];
}

function isKept(row: CounterRow, isTrusted: Trust): boolean {
  return row.kind === 'prune' || isTrusted(counterKey(row));
}

function rowsOfPath(path: string, last: number): CounterRow[] {
  const role = classifyPath(path);
  if (role.role !== 'object') return [];
  const { kind, name } = role;
  const kinds: CounterKind[] = kind === 'app' ? [kind] : [kind, 'prune'];
  return kinds.map((one) => ({ kind: one, name, last, hash: null }));
}
