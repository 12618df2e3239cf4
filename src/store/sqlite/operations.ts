import { OperationPage } from '../operation-page.ts';
import type { OperationContext, OperationEntry } from '../store.ts';
import { type Database, prepare, type Statement } from './connection.ts';

/** Writes the operations log, inside the caller's transaction. */
export class OperationLog {
  readonly #add: Statement<never>;

  constructor(db: Database) {
    this.#add = prepare(
      db,
      'INSERT INTO operations (at, actor, action, name, request_id, ids) VALUES (?, ?, ?, ?, ?, ?)',
    );
  }

  add(entry: Omit<OperationEntry, 'id'>): void {
    const { at, actor, action, name, requestId, ids } = entry;
    this.#add.run(at, actor, action, name, requestId, JSON.stringify(ids));
  }

  /** Logs what was asked for in this context; `ids` are the ids that it gave. */
  addFor(
    context: OperationContext,
    action: OperationEntry['action'],
    name: string | null,
    ids: Record<string, number>,
  ): void {
    const { actor, requestId, at } = context;
    this.add({ actor, requestId, at, action, name, ids });
  }
}

interface OperationRow {
  id: number;
  at: number;
  actor: string;
  action: OperationEntry['action'];
  name: string | null;
  request_id: string;
  /** JSON. */
  ids: string;
}

/** Reads the operations log. */
export class OperationReads {
  readonly #newest: Statement<OperationRow>;

  constructor(db: Database) {
    this.#newest = prepare(db, 'SELECT * FROM operations WHERE id < ? ORDER BY id DESC LIMIT 1');
  }

  /** See `Store.operations`. */
  before(before: number | null, limit: number): OperationEntry[] {
    return new OperationPage(limit).fill(this.#entries(before ?? Number.MAX_SAFE_INTEGER)).entries;
  }

  /** Row by row: one can be as large as a page. */
  *#entries(before: number): Generator<OperationEntry> {
    let row = this.#newest.get(before);
    while (row !== undefined) {
      const { request_id: requestId, ids, ...rest } = row;
      yield { ...rest, requestId, ids: JSON.parse(ids) as Record<string, number> };
      row = this.#newest.get(row.id);
    }
  }
}
