import { forEachYielding } from '../../async/pace.ts';
import { classifyPath } from '../../desired/file.ts';
import type { CounterKind, CounterRow, CounterSeed } from '../id-store.ts';
import { counterKey } from '../record/format.ts';
import type { Trust } from './trust.ts';

/**
 * What happens to the counters that the store has.
 *
 * - `keep`: they stay as they are; only names without a counter get the floor.
 * - `raise`: they get the floor, too. Objects keep their ids until their next change.
 * - `renew`: as `raise`, but objects whose names are in git's history take a new id at once: the ids that the store has
 *   were never given to the devices of this history.
 */
export type CounterPolicy = 'keep' | 'raise' | 'renew';

/** Where counters are known from. Later sources override earlier ones; `policy` decides between `paths` and `stored`. */
export interface CounterSources {
  /** Every path that the folder ever had in git's history. */
  paths: Iterable<string>;
  /** The counters that the store has, and what happens to them. */
  stored: readonly CounterRow[];
  policy: CounterPolicy;
  /** The rows of the manager's section of the record. */
  recorded: readonly CounterRow[];
}

type CounterName = Pick<CounterRow, 'kind' | 'name'>;

/**
 * Resolves to one seed, with this floor, for each counter in any source, except those that `keep` leaves alone. A
 * recorded id is kept only if its object is trusted.
 *
 * If the last id of a counter is not known, or not kept, every id below the floor counts as given. So a store that is
 * restored later with one of these ids learns that it is outdated. Yields to the event loop between rows.
 */
export async function seedsOf(
  { paths, stored, policy, recorded }: CounterSources,
  isTrusted: Trust,
  floor: number,
): Promise<CounterSeed[]> {
  const seeds = new Map<string, CounterSeed>();
  const add = ({ kind, name }: CounterName, last: number, hash: string | null): void =>
    void seeds.set(counterKey({ kind, name }), { kind, name, last, hash, floor });
  const addKept = (row: CounterRow): void => add(row, row.last, row.hash);
  const addUnknown = (counter: CounterName): void => add(counter, floor - 1, null);

  await forEachYielding(paths, (path) => countersOfPath(path).forEach(addUnknown));
  await forEachYielding(stored, (row) => {
    if (policy === 'keep') seeds.delete(counterKey(row));
    else if (policy === 'raise' || !seeds.has(counterKey(row))) addKept(row);
  });
  await forEachYielding(recorded, (row) => (isKept(row, isTrusted) ? addKept : addUnknown)(row));
  return [...seeds.values()];
}

function isKept(row: CounterRow, isTrusted: Trust): boolean {
  return row.kind === 'prune' || isTrusted(counterKey(row));
}

/** An app has one counter; a device group has two. */
function countersOfPath(path: string): CounterName[] {
  const role = classifyPath(path);
  if (role.role !== 'object') return [];
  const kinds: CounterKind[] = role.kind === 'app' ? ['app'] : ['device_group', 'prune'];
  return kinds.map((kind) => ({ kind, name: role.name }));
}
