/** What a state keeps its entries in: a map, or a layer over one. No value is undefined. */
export interface Entries<K, V> {
  get(key: K): V | undefined;
  set(key: K, value: V): unknown;
  /** Whether there was such an entry. */
  delete(key: K): boolean;
  keys(): IterableIterator<K>;
}

/** A map on top of another one, which it never changes: entries that were not changed here come from the other. */
export class LayeredMap<K, V> implements Entries<K, V> {
  readonly #base: Entries<K, V>;
  /** What was changed here; undefined is no entry. */
  readonly #own = new Map<K, V | undefined>();

  constructor(base: Entries<K, V>) {
    this.#base = base;
  }

  get(key: K): V | undefined {
    return this.#own.has(key) ? this.#own.get(key) : this.#base.get(key);
  }

  set(key: K, value: V): void {
    this.#own.set(key, value);
  }

  delete(key: K): boolean {
    const isThere = this.get(key) !== undefined;
    if (isThere) this.#own.set(key, undefined);
    return isThere;
  }

  *keys(): Generator<K, undefined, undefined> {
    for (const key of this.#base.keys()) if (!this.#own.has(key)) yield key;
    for (const [key, value] of this.#own) if (value !== undefined) yield key;
    return undefined;
  }
}

/** What a state keeps names in: a set, or a layer over one. */
export interface Members<T> extends Iterable<T> {
  has(item: T): boolean;
  add(item: T): unknown;
  delete(item: T): unknown;
}

/** A set that is to another set what a `LayeredMap` is to another map. */
export class LayeredSet<T> implements Members<T> {
  readonly #base: Members<T>;
  readonly #added = new Set<T>();
  readonly #gone = new Set<T>();

  constructor(base: Members<T>) {
    this.#base = base;
  }

  has(item: T): boolean {
    return this.#added.has(item) || (!this.#gone.has(item) && this.#base.has(item));
  }

  add(item: T): void {
    this.#gone.delete(item);
    if (!this.#base.has(item)) this.#added.add(item);
  }

  delete(item: T): void {
    this.#added.delete(item);
    this.#gone.add(item);
  }

  *[Symbol.iterator](): Generator<T, undefined, undefined> {
    for (const item of this.#base) if (!this.#gone.has(item)) yield item;
    // The base may have got some of these since they were added here.
    for (const item of this.#added) if (!this.#base.has(item)) yield item;
    return undefined;
  }
}
