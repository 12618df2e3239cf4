import { type Act, actOf, actRows, type NewAct } from '../ledger.ts';
import { type Database, prepare, type Statement } from './connection.ts';

/** Writes the ledger, inside the caller's transaction. */
export class Ledger {
  readonly #next: Statement<{ number: number }>;
  readonly #add: Statement<never>;

  constructor(db: Database) {
    this.#next = prepare(db, 'SELECT coalesce(max(number), 0) + 1 AS number FROM ledger');
    this.#add = prepare(db, 'INSERT INTO ledger (number, part, body) VALUES (?, ?, ?)');
  }

  add(act: NewAct): void {
    const number = this.#next.get()?.number ?? 1;
    for (const [part, body] of actRows(act).entries()) this.#add.run(number, part, body);
  }
}

/** Reads the ledger. */
export class LedgerReads {
  readonly #next: Statement<{ number: number; part: number; body: string }>;

  constructor(db: Database) {
    this.#next = prepare(
      db,
      'SELECT number, part, body FROM ledger WHERE number = (SELECT min(number) FROM ledger WHERE number > ?) ORDER BY part',
    );
  }

  /** See `HistoryStore.nextAct`. */
  after(number: number): Act | null {
    const rows = this.#next.all(number);
    const [first] = rows;
    return first === undefined
      ? null
      : actOf(
          first.number,
          rows.map(({ body }) => body),
        );
  }
}
