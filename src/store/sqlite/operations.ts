import type { NewOperation, OperationEntry } from '../operation.ts';
import { OperationPage, type OperationRow, operationEntry } from '../operation-page.ts';
import { type Database, prepare, type Statement } from './connection.ts';

/** Writes the operations log, inside the caller's transaction. */
export class OperationLog {
  readonly #add: Statement<never>;

  constructor(db: Database) {
    this.#add = prepare(
      db,
      'INSERT INTO operations (at, actor, action, name, request_id, reason, ids) VALUES (?, ?, ?, ?, ?, ?, ?)',
    );
  }

  add({ at, actor, action, name, requestId, reason, ids }: NewOperation): void {
    this.#add.run(at, actor, action, name, requestId, reason ?? null, JSON.stringify(ids));
  }
}

/** The columns, by their names in `OperationRow`. */
const OPERATION_COLUMNS = 'id, at, actor, action, name, request_id AS requestId, reason, ids';

/** Reads the operations log. */
export class OperationReads {
  readonly #newest: Statement<OperationRow>;

  constructor(db: Database) {
    this.#newest = prepare(
      db,
      `SELECT ${OPERATION_COLUMNS} FROM operations WHERE id < ? ORDER BY id DESC LIMIT 1`,
    );
  }

  /** See `Store.operations`. */
  before(before: number | null, limit: number): OperationEntry[] {
    return new OperationPage(limit).fill(this.#entries(before ?? Number.MAX_SAFE_INTEGER)).entries;
  }

  /** Reads row by row, because one row can be as large as a page. */
  *#entries(before: number): Generator<OperationEntry> {
    let row = this.#newest.get(before);
    while (row !== undefined) {
      yield operationEntry(row);
      row = this.#newest.get(row.id);
    }
  }
}
