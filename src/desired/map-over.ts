/** What `DesiredState` needs of a map. */
export interface Table<K, V> {
  readonly size: number;
  get(key: K): V | undefined;
  set(key: K, value: V): unknown;
  delete(key: K): boolean;
  keys(): IterableIterator<K>;
  values(): IterableIterator<V>;
  [Symbol.iterator](): IterableIterator<[K, V]>;
}

/**
 * A map over another one, which it never changes: it has the entries of that, except for those that were set or deleted
 * here. Made at once, however large the other is; sees what changes there. No value is undefined.
 */
export class MapOver<K, V> implements Table<K, V> {
  readonly #below: Table<K, V>;
  /** Undefined: deleted. */
  readonly #own = new Map<K, V | undefined>();

  constructor(below: Table<K, V>) {
    this.#below = below;
  }

  get size(): number {
    let size = this.#below.size;
    for (const [key, value] of this.#own)
      size += Number(value !== undefined) - Number(this.#below.get(key) !== undefined);
    return size;
  }

  get(key: K): V | undefined {
    return this.#own.has(key) ? this.#own.get(key) : this.#below.get(key);
  }

  set(key: K, value: V): void {
    this.#own.set(key, value);
  }

  delete(key: K): boolean {
    const existed = this.get(key) !== undefined;
    this.#own.set(key, undefined);
    return existed;
  }

  *keys(): IterableIterator<K> {
    for (const [key] of this) yield key;
  }

  *values(): IterableIterator<V> {
    for (const [, value] of this) yield value;
  }

  *[Symbol.iterator](): IterableIterator<[K, V]> {
    for (const entry of this.#below) if (!this.#own.has(entry[0])) yield entry;
    for (const [key, value] of this.#own) if (value !== undefined) yield [key, value];
  }
}
