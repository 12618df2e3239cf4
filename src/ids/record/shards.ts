import { forEachYielding } from '../../async/pace.ts';
import type { CounterRow } from '../id-store.ts';
import { counterKey, encodeShard, MAX_ID, MAX_ROWS, type SectionMeta, shardOf } from './format.ts';

/** The counters of a store, grouped by the file of the section that they belong in. */
export class Shards {
  readonly #shards = new Map<string, Map<string, CounterRow>>();
  #size = 0;
  #highest = 0;

  /** Adds rows, in place of earlier rows of the same counters. Resolves to the files that they belong in. */
  async add(rows: readonly CounterRow[]): Promise<Set<string>> {
    const files = new Set<string>();
    await forEachYielding(rows, (row) => files.add(this.#put(row)));
    return files;
  }

  /** Whether there are more rows than a section can hold. */
  get isTooLarge(): boolean {
    return this.#size > MAX_ROWS;
  }

  /** Whether an id is higher than a section can hold. */
  get isOutOfRoom(): boolean {
    return this.#highest > MAX_ID;
  }

  /** Whether any of these rows has a higher id than its counter, or the same id for other content. */
  async areBehind(rows: readonly CounterRow[]): Promise<boolean> {
    let areBehind = false;
    await forEachYielding(rows, (row) => {
      const counter = this.#shards.get(shardOf(row.name))?.get(counterKey(row));
      areBehind ||= counter === undefined || row.last > counter.last || isOther(row, counter);
    });
    return areBehind;
  }

  /** Encodes these files, and resolves to those that differ from what is written (`texts`). */
  async changed(files: Iterable<string>, texts: ReadonlyMap<string, string>): Promise<Map<string, string>> {
    const changed = new Map<string, string>();
    await forEachYielding(files, (file) => {
      const text = encodeShard([...(this.#shards.get(file)?.values() ?? [])]);
      if (texts.get(file) !== text) changed.set(file, text);
    });
    return changed;
  }

  get totals(): Pick<SectionMeta, 'rows' | 'highest'> {
    return { rows: this.#size, highest: this.#highest };
  }

  #put(row: CounterRow): string {
    const file = shardOf(row.name);
    const shard = this.#shards.get(file) ?? new Map<string, CounterRow>();
    const before = shard.size;
    this.#shards.set(file, shard.set(counterKey(row), row));
    this.#size += shard.size - before;
    this.#highest = Math.max(this.#highest, row.last);
    return file;
  }
}

/** Whether two rows of a counter have the same id for different contents. A deleted object has no content. */
function isOther(a: CounterRow, b: CounterRow): boolean {
  return a.last === b.last && a.hash !== null && b.hash !== null && a.hash !== b.hash;
}
