import type { Database } from '../../sqlite/connection.ts';
import type { Session } from '../../sqlite/session.ts';
import type { CheckSpace } from '../space.ts';
import type { HistoryStore } from './port.ts';
import { ActReads, type Acts } from './sqlite-acts.ts';
import { History, HistoryReads } from './sqlite-entries.ts';

/** What the history of a store in SQLite depends on. */
export interface SqliteHistoryParts {
  session: Session;
  reader: Database;
  writer: Database;
  /** On the connection that writes. */
  acts: Acts;
  checkSpace: CheckSpace;
}

/** The history of a store in SQLite. */
export function sqliteHistory({
  session,
  reader,
  writer,
  acts,
  checkSpace,
}: SqliteHistoryParts): HistoryStore {
  const actReads = new ActReads(reader);
  const reads = new HistoryReads(reader);
  const writes = new History(writer, acts);
  return {
    nextAct: (after) => session.read(() => actReads.after(after)),
    historyState: () => session.read(() => reads.state()),
    requireRoom: (part) => session.run(() => checkSpace(part === 'older' ? 'olderHistory' : 'newHistory')),
    // NORMAL: what a loss of power undoes is indexed again, from acts that are there again.
    addEntries: (batch) => session.writeAsync(() => writes.addEntries(batch), 'NORMAL'),
    entries: (query, before, limit) => session.read(() => reads.page(query, before, limit)),
    entry: (n) => session.read(() => reads.entry(n)),
    firstSince: (idSequence, objects) => session.read(() => reads.firstSince(idSequence, objects)),
    revisionBefore: (idSequence) => session.read(() => reads.revisionBefore(idSequence)),
    revisionOf: (prefix) => session.read(() => reads.revisionOf(prefix)),
  };
}
