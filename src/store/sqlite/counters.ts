import type { ObjectKey } from '../../desired/name.ts';
import { FRESH_COUNTER } from '../../plan/ids.ts';
import type { KeptCounter } from '../rules/work.ts';
import type { CounterKind, CounterRow } from '../store.ts';
import { type Database, prepare, type Statement } from './connection.ts';

/** Rows that are read, or changed, in one turn of the event loop. */
const PAGE = 500;

/** Changes the counters, inside the caller's transaction. `changed` is the transaction's id sequence. */
export class Counters {
  readonly #get: Statement<KeptCounter>;
  readonly #floor: Statement<{ floor: number }>;
  readonly #put: Statement<never>;
  readonly #keep: Statement<never>;
  readonly #markSome: Statement<never>;

  constructor(db: Database) {
    this.#get = prepare(db, 'SELECT last, floor, hash FROM counters WHERE kind = ? AND name = ?');
    this.#floor = prepare(db, 'SELECT floor_of_others AS floor FROM state');
    this.#put = prepare(
      db,
      `INSERT INTO counters (kind, name, last, floor, hash, changed) VALUES (?, ?, ?, ?, ?, ?)
       ON CONFLICT (kind, name) DO UPDATE
       SET last = excluded.last, floor = excluded.floor, hash = excluded.hash, changed = excluded.changed`,
    );
    this.#keep = prepare(db, 'UPDATE counters SET hash = NULL WHERE kind = ? AND name = ?');
    this.#markSome = prepare(
      db,
      `UPDATE counters SET changed = ?1
       WHERE (kind, name) IN (SELECT kind, name FROM counters WHERE changed < ?1 LIMIT ${PAGE})`,
    );
  }

  /** The counter; a fresh one for a name that never was. */
  get(kind: CounterKind, name: string): KeptCounter {
    const floor = (): number => this.#floor.get()?.floor ?? 0;
    return this.#get.get(kind, name) ?? { ...FRESH_COUNTER, floor: floor(), hash: null };
  }

  put(kind: CounterKind, name: string, counter: KeptCounter, changed: number): void {
    this.#put.run(kind, name, counter.last, counter.floor, counter.hash, changed);
  }

  /** The stored object carries the hash from now on. No change: the row that others read stays the same. */
  handOverHash(kind: CounterKind, name: string): void {
    this.#keep.run(kind, name);
  }

  markSomeChanged(changed: number): boolean {
    return this.#markSome.run(changed).changes > 0;
  }
}

/** A row and its place in the order of changes. */
type ChangedRow = CounterRow & { changed: number };

/** With more changes than this, the caller may as well take everything for changed. */
const MOST_CHANGES = 1000;

/** The driver makes a new string for each row, and the record keeps the rows. */
const LITERALS: Readonly<Record<CounterKind, CounterKind>> = {
  app: 'app',
  device_group: 'device_group',
  prune: 'prune',
};

/** Reads counters for the record outside the store. */
export class CounterReads {
  readonly #page: Statement<ChangedRow>;
  readonly #changed: Statement<Pick<ChangedRow, 'kind' | 'name' | 'changed'>>;

  constructor(db: Database) {
    this.#page = prepare(
      db,
      `SELECT c.kind, c.name, c.last, coalesce(o.hash, c.hash) AS hash, c.changed
       FROM counters AS c LEFT JOIN objects AS o ON o.kind = c.kind AND o.name = c.name
       WHERE (c.changed, c.kind, c.name) > (?, ?, ?) ORDER BY c.changed, c.kind, c.name LIMIT ${PAGE}`,
    );
    this.#changed = prepare(
      db,
      `SELECT kind, name, changed FROM counters WHERE changed > ? ORDER BY changed DESC LIMIT ${MOST_CHANGES + 1}`,
    );
  }

  /**
   * The objects of which an id changed after this id sequence; null where they are very many, or where something else
   * than an id has raised the sequence to what it is `now`. What devices see changes only with an id, or when an object
   * is made that they could not be told of before.
   */
  changedSince(idSequence: number, now: number): ObjectKey[] | null {
    const rows = this.#changed.all(idSequence);
    if (rows.length > MOST_CHANGES || (rows[0]?.changed ?? idSequence) < now) return null;
    return rows.map(({ kind, name }) => ({ kind: kind === 'app' ? kind : 'device_group', name }));
  }

  /**
   * The counters that changed after this id sequence, in the order of their changes; `inTurn` runs each page, in a
   * turn of its own. What changes meanwhile comes with its newest state, and can come twice.
   */
  async since(
    idSequence: number,
    inTurn: (read: () => ChangedRow[]) => Promise<ChangedRow[]>,
  ): Promise<CounterRow[]> {
    const rows: CounterRow[] = [];
    const place = { changed: idSequence + 1, kind: '', name: '' };
    for (;;) {
      const page = await inTurn(() => this.#page.all(place.changed, place.kind, place.name));
      for (const { kind, name, last, hash } of page) rows.push({ kind: LITERALS[kind], name, last, hash });
      const end = page.at(-1);
      if (end === undefined || page.length < PAGE) return rows;
      Object.assign(place, { changed: end.changed, kind: end.kind, name: end.name });
    }
  }
}
