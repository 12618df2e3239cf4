import { classifyPath } from '../desired/file.ts';
import { startFloor } from '../plan/ids.ts';
import type { Reader } from '../source/source.ts';
import type { CounterKind, CounterSeed, Store } from '../store/store.ts';

/** What seeding did, for the log. */
export interface Seeding {
  names: number;
  floor: number;
  /** Whether git could name everything that ever was; otherwise every name starts at the floor, also new ones. */
  isComplete: boolean;
}

/**
 * Gives every name of the past its floor when a store starts without counters (decisions, "Ids"): whatever
 * was served before, the next id of such a name lies above it. `now` is Unix milliseconds.
 */
export async function seedFromHistory(store: Store, reader: Reader, now: number): Promise<Seeding> {
  const history = await reader.history();
  const floor = startFloor({
    now: Math.floor(now / 1000),
    newestCommit: history.newestCommit,
    highestId: 0,
  });
  const seeds = seedsOf(history.paths, floor);
  await store.seedCounters(seeds, 0, history.isComplete ? 0 : floor);
  return { names: seeds.length, floor, isComplete: history.isComplete };
}

function seedsOf(paths: Iterable<string>, floor: number): CounterSeed[] {
  const seeds = new Map<string, CounterSeed>();
  const add = (kind: CounterKind, name: string): void => {
    seeds.set(`${kind}/${name}`, { kind, name, last: 0, floor, hash: null });
  };
  for (const path of paths) {
    const role = classifyPath(path);
    if (role.role !== 'object') continue;
    add(role.kind, role.name);
    if (role.kind === 'device_group') add('prune', role.name);
  }
  return [...seeds.values()];
}
