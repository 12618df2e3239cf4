import { forEachYielding } from '../../async/pace.ts';
import { classifyPath } from '../../desired/file.ts';
import type { CounterKind, CounterRow, CounterSeed } from '../id-store.ts';
import { counterKey } from '../record/format.ts';
import type { Trust } from './trust.ts';

/** Where counters are known from. Later sources override earlier ones. */
export interface CounterSources {
  /** Every path that the folder ever had in git's history. */
  paths: Iterable<string>;
  /** The counters of the store, if their ids were given to the devices of this history. They keep their ids for now. */
  stored: readonly CounterRow[];
  /** The rows of the record. */
  recorded: readonly CounterRow[];
}

type CounterName = Pick<CounterRow, 'kind' | 'name'>;

/**
 * Resolves to one seed, with this floor, for each counter in any source. A recorded id is kept only if its object is
 * trusted.
 *
 * If the last id of a counter is not known, or not kept, every id below the floor counts as given. So a store that is
 * restored later with one of these ids learns that it is outdated. Yields to the event loop between rows.
 */
export async function seedsOf(
  { paths, stored, recorded }: CounterSources,
  isTrusted: Trust,
  floor: number,
): Promise<CounterSeed[]> {
  const seeds = new Map<string, CounterSeed>();
  const add = ({ kind, name }: CounterName, last: number, hash: string | null): void =>
    void seeds.set(counterKey({ kind, name }), { kind, name, last, hash, floor });
  const addKept = (row: CounterRow): void => add(row, row.last, row.hash);
  const addUnknown = (counter: CounterName): void => add(counter, floor - 1, null);

  await forEachYielding(paths, (path) => countersOfPath(path).forEach(addUnknown));
  await forEachYielding(stored, addKept);
  await forEachYielding(recorded, (row) => (isKept(row, isTrusted) ? addKept : addUnknown)(row));
  return [...seeds.values()];
}

function isKept(row: CounterRow, isTrusted: Trust): boolean {
  return row.kind === 'prune' || isTrusted(counterKey(row));
}

/** An object has one counter; a device group has two. */
function countersOfPath(path: string): CounterName[] {
  const role = classifyPath(path);
  if (role.role !== 'object') return [];
  const kinds: CounterKind[] = role.kind === 'device_group' ? ['device_group', 'prune'] : [role.kind];
  return kinds.map((kind) => ({ kind, name: role.name }));
}
