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
  readonly #before: Statement<OperationRow>;

  constructor(db: Database) {
    this.#before = prepare(db, 'SELECT * FROM operations WHERE id < ? ORDER BY id DESC LIMIT ?');
  }

  /** Entries with an id below `before` (all where null), newest first. */
  before(before: number | null, limit: number): OperationEntry[] {
    const rows = this.#before.all(before ?? Number.MAX_SAFE_INTEGER, limit);
    return rows.map(({ request_id: requestId, ids, ...row }) => ({
      ...row,
      requestId,
      ids: JSON.parse(ids) as Record<string, number>,
    }));
  }
}
