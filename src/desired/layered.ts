/** A map, or a layer over one. No value is undefined. */
export interface Entries<K, V> {
  get(key: K): V | undefined;
  set(key: K, value: V): unknown;
  /** Deletes an entry. Returns whether it existed. */
  delete(key: K): boolean;
  keys(): IterableIterator<K>;
}

/** A layer over another map, which it never changes: entries that are not changed here come from the base. */
export class LayeredMap<K, V> implements Entries<K, V> {
  readonly #base: Entries<K, V>;
  /** The changes of this layer; undefined marks a deleted entry. */
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
    const exists = this.get(key) !== undefined;
    if (exists) this.#own.set(key, undefined);
    return exists;
  }

  *keys(): Generator<K, undefined, undefined> {
    for (const key of this.#base.keys()) if (!this.#own.has(key)) yield key;
    for (const [key, value] of this.#own) if (value !== undefined) yield key;
    return undefined;
  }
}

/** A set, or a layer over one. */
export interface Members<T> extends Iterable<T> {
  has(item: T): boolean;
  add(item: T): unknown;
  delete(item: T): unknown;
}

/** A layer over another set, which it never changes. */
export class LayeredSet<T> implements Members<T> {
  readonly #base: Members<T>;
  readonly #added = new Set<T>();
  readonly #deleted = new Set<T>();

  constructor(base: Members<T>) {
    this.#base = base;
  }

  has(item: T): boolean {
    return this.#added.has(item) || (!this.#deleted.has(item) && this.#base.has(item));
  }

  add(item: T): void {
    this.#deleted.delete(item);
    if (!this.#base.has(item)) this.#added.add(item);
  }

  delete(item: T): void {
    this.#added.delete(item);
    this.#deleted.add(item);
  }

  *[Symbol.iterator](): Generator<T, undefined, undefined> {
    for (const item of this.#base) if (!this.#deleted.has(item)) yield item;
    // Some of these can have been added to the base in the meantime.
    for (const item of this.#added) if (!this.#base.has(item)) yield item;
    return undefined;
  }
}
