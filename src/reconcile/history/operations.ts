import { OPERATIONS } from '../../protocol/history.ts';
import type { EntryQuery, ListedEntry } from '../../store/entry.ts';
import type { HistoryStore } from '../../store/history/port.ts';

/**
 * A page ends once its operations have this many ids. A prune of all groups gives one id to each, and a reply is
 * serialized in one turn of the event loop.
 */
const MAX_IDS = 10_000;

const ALL: EntryQuery = { keys: [], kinds: OPERATIONS, since: null, until: null, text: null };

/** Entries of operations with all of their changes, and whether older ones follow. */
export interface OperationPage {
  entries: ListedEntry[];
  isMore: boolean;
}

/** Reads operations, newest first: at most `limit`, and fewer if they gave very many ids, but at least one if there is any. */
export async function readOperations(
  store: HistoryStore,
  before: number | null,
  limit: number,
): Promise<OperationPage> {
  const listed = (await store.entries(ALL, before, limit + 1)).entries;
  const entries: ListedEntry[] = [];
  let ids = 0;
  for (const entry of listed.slice(0, limit)) {
    if (ids >= MAX_IDS) break;
    const isCut = entry.changesTotal > entry.changes.length;
    entries.push(isCut ? ((await store.entry(entry.n)) ?? entry) : entry);
    ids += entry.changesTotal;
  }
  return { entries, isMore: entries.length < listed.length };
}
