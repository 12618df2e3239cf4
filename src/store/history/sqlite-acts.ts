import { type Database, prepare, type Statement } from '../../sqlite/connection.ts';
import { type Act, actOf, actRows, type NewAct } from '../act.ts';

/** Writes acts, inside the caller's transaction. */
export class Acts {
  readonly #next: Statement<{ number: number }>;
  readonly #add: Statement<never>;
  readonly #drop: Statement<never>;

  constructor(db: Database) {
    // Numbers go on after acts that are deleted.
    this.#next = prepare(
      db,
      `SELECT max(coalesce((SELECT max(number) FROM acts), 0), coalesce((SELECT history ->> '$.act' FROM state), 0)) + 1
       AS number`,
    );
    this.#drop = prepare(db, 'DELETE FROM acts WHERE number <= ?');
    this.#add = prepare(db, 'INSERT INTO acts (number, part, body) VALUES (?, ?, ?)');
  }

  add(act: NewAct): void {
    const number = this.#next.get()?.number ?? 1;
    for (const [part, body] of actRows(act).entries()) this.#add.run(number, part, body);
  }

  /** Deletes acts up to this number. */
  drop(number: number): void {
    this.#drop.run(number);
  }
}

/** Reads acts. */
export class ActReads {
  readonly #next: Statement<{ number: number; part: number; body: string }>;

  constructor(db: Database) {
    this.#next = prepare(
      db,
      'SELECT number, part, body FROM acts WHERE number = (SELECT min(number) FROM acts WHERE number > ?) ORDER BY part',
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
