import { forEachYielding } from '../../async/pace.ts';
import type { CounterRow } from '../id-store.ts';
import { counterKey, encodeShard, shardOf } from './format.ts';

/** Encodes the files that these names belong in, with all of their rows. Yields to the event loop. */
export async function encodeFilesOf(
  names: Iterable<{ name: string }>,
  rows: readonly CounterRow[],
): Promise<Map<string, string>> {
  const shards = new Map<string, CounterRow[]>();
  await forEachYielding(names, ({ name }) => shards.set(shardOf(name), []));
  await forEachYielding(rows, (row) => shards.get(shardOf(row.name))?.push(row));
  const files = new Map<string, string>();
  await forEachYielding(shards, ([file, shard]) => files.set(file, encodeShard(shard)));
  return files;
}

/**
 * Whether a store with these counters does not know what is recorded: a higher id, or the same id for other content. Yields
 * to the event loop.
 */
export async function areBehind(
  counters: readonly CounterRow[],
  recorded: readonly CounterRow[],
): Promise<boolean> {
  const known = new Map<string, CounterRow>();
  await forEachYielding(counters, (row) => known.set(counterKey(row), row));
  let isBehind = false;
  await forEachYielding(recorded, (row) => {
    const counter = known.get(counterKey(row));
    isBehind ||= counter === undefined || row.last > counter.last || isOther(row, counter);
  });
  return isBehind;
}

/** Whether two rows of a counter have the same id for different contents. A deleted object has no content. */
function isOther(a: CounterRow, b: CounterRow): boolean {
  return a.last === b.last && a.hash !== null && b.hash !== null && a.hash !== b.hash;
}
