import type { OperationEntry } from './store.ts';

/**
 * Ids after which a page ends: a prune of all gives one to each group, and a reply is made in one turn of the event
 * loop.
 */
const MOST_IDS = 10_000;

/** A page of the operations log: at least one entry, at most `limit`, and no more once they have very many ids. */
export class OperationPage {
  readonly entries: OperationEntry[] = [];
  readonly #limit: number;
  #ids = 0;

  constructor(limit: number) {
    this.#limit = limit;
  }

  /** How many more entries there is room for. */
  get room(): number {
    return this.#ids >= MOST_IDS ? 0 : this.#limit - this.entries.length;
  }

  /** Adds entries for as long as there is room. */
  fill(entries: Iterable<OperationEntry>): this {
    for (const entry of entries) {
      this.entries.push(entry);
      this.#ids += Object.keys(entry.ids).length;
      if (this.room === 0) break;
    }
    return this;
  }
}

/** An entry as stores hold it. */
export interface OperationRow extends Omit<OperationEntry, 'ids'> {
  /** JSON. */
  ids: string;
}

export function operationEntry(row: OperationRow): OperationEntry {
  const { id, at, actor, action, name, requestId, ids } = row;
  return { id, at, actor, action, name, requestId, ids: JSON.parse(ids) as Record<string, number> };
}
