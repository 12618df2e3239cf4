import type { OperationEntry } from './operation.ts';

/**
 * A page ends once its entries have this many ids. A prune of all groups gives one id to each, and a reply is
 * serialized in one turn of the event loop.
 */
const MAX_IDS = 10_000;

/**
 * A page of the operations log: at most `limit` entries, and fewer if they contain very many ids, but at least one if
 * there is any.
 */
export class OperationPage {
  readonly entries: OperationEntry[] = [];
  readonly #limit: number;
  #ids = 0;

  constructor(limit: number) {
    this.#limit = limit;
  }

  /** The number of entries for which there is still room. */
  get room(): number {
    return this.#ids >= MAX_IDS ? 0 : this.#limit - this.entries.length;
  }

  /** Adds entries while there is room. */
  fill(entries: Iterable<OperationEntry>): this {
    for (const entry of entries) {
      this.entries.push(entry);
      this.#ids += Object.keys(entry.ids).length;
      if (this.room === 0) break;
    }
    return this;
  }
}

/** An entry of the operations log as SQLite and MongoDB hold it. */
export interface OperationRow extends Omit<OperationEntry, 'ids'> {
  /** JSON. */
  ids: string;
}

export function operationEntry(row: OperationRow): OperationEntry {
  const { id, at, actor, action, name, requestId, reason, ids } = row;
  return { id, at, actor, action, name, requestId, reason, ids: JSON.parse(ids) as Record<string, number> };
}
