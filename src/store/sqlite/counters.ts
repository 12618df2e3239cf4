import { FRESH_COUNTER } from '../../ids/counter.ts';
import type { CounterKind, CounterRow } from '../../ids/id-store.ts';
import { type Database, prepare, type Statement } from '../../sqlite/connection.ts';
import type { StoredCounter } from '../rules/work.ts';

/** The number of rows that are read or changed in one turn of the event loop. */
const PAGE = 500;

/** Changes the counters, inside the caller's transaction. `changed` is the transaction's id sequence. */
export class Counters {
  readonly #get: Statement<StoredCounter>;
  readonly #floor: Statement<{ floor: number }>;
  readonly #put: Statement<never>;
  readonly #clearHash: Statement<never>;
  readonly #markSome: Statement<never>;

  constructor(db: Database) {
    this.#get = prepare(db, 'SELECT last, floor, hash FROM counters WHERE kind = ? AND name = ?');
    this.#floor = prepare(db, 'SELECT default_floor AS floor FROM state');
    this.#put = prepare(
      db,
      `INSERT INTO counters (kind, name, last, floor, hash, changed) VALUES (?, ?, ?, ?, ?, ?)
       ON CONFLICT (kind, name) DO UPDATE
       SET last = excluded.last, floor = excluded.floor, hash = excluded.hash, changed = excluded.changed`,
    );
    this.#clearHash = prepare(db, 'UPDATE counters SET hash = NULL WHERE kind = ? AND name = ?');
    this.#markSome = prepare(
      db,
      `UPDATE counters SET changed = ?1
       WHERE (kind, name) IN (SELECT kind, name FROM counters WHERE changed < ?1 LIMIT ${PAGE})`,
    );
  }

  /** Returns a counter; a fresh one for a name without a counter. */
  get(kind: CounterKind, name: string): StoredCounter {
    const floor = (): number => this.#floor.get()?.floor ?? 0;
    return this.#get.get(kind, name) ?? { ...FRESH_COUNTER, floor: floor(), hash: null };
  }

  put(kind: CounterKind, name: string, counter: StoredCounter, changed: number): void {
    this.#put.run(kind, name, counter.last, counter.floor, counter.hash, changed);
  }

  /** See `CounterWork.clearHash`. */
  clearHash(kind: CounterKind, name: string): void {
    this.#clearHash.run(kind, name);
  }

  /** Sets `changed` in some of the counters that have a lower value. Returns false if there were none. */
  markSomeChanged(changed: number): boolean {
    return this.#markSome.run(changed).changes > 0;
  }
}

/** A row with the id sequence of its last change. */
type ChangedRow = CounterRow & { changed: number };

/** One string for each kind: the driver makes a new one for each row, and the caller keeps many rows. */
const KIND_STRINGS: Readonly<Record<CounterKind, CounterKind>> = {
  app: 'app',
  device_group: 'device_group',
  prune: 'prune',
};

/** Reads counters for the record outside the store. */
export class CounterReads {
  readonly #page: Statement<ChangedRow>;

  constructor(db: Database) {
    this.#page = prepare(
      db,
      `SELECT c.kind, c.name, c.last, coalesce(o.hash, c.hash) AS hash, c.changed
       FROM counters AS c LEFT JOIN objects AS o ON o.kind = c.kind AND o.name = c.name
       WHERE (c.changed, c.kind, c.name) > (?, ?, ?) ORDER BY c.changed, c.kind, c.name LIMIT ${PAGE}`,
    );
  }

  /**
   * Resolves to the counters that changed after this id sequence, in the order of their changes. `inTurn` reads each
   * page in a turn of its own. A counter that changes meanwhile can be returned twice; the last is the newest.
   */
  async since(
    idSequence: number,
    inTurn: (read: () => ChangedRow[]) => Promise<ChangedRow[]>,
  ): Promise<CounterRow[]> {
    const rows: CounterRow[] = [];
    let position = { changed: idSequence + 1, kind: '', name: '' };
    for (;;) {
      const page = await inTurn(() => this.#page.all(position.changed, position.kind, position.name));
      for (const { kind, name, last, hash } of page)
        rows.push({ kind: KIND_STRINGS[kind], name, last, hash });
      const lastRow = page.at(-1);
      if (lastRow === undefined || page.length < PAGE) return rows;
      position = lastRow;
    }
  }
}
