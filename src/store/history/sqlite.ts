import type { Session } from '../../sqlite/session.ts';
import type { CheckSpace } from '../space.ts';
import type { Reads, Writes } from '../sqlite/tables.ts';
import type { HistoryStore } from './port.ts';

/** What the history of a store in SQLite depends on. */
export interface SqliteHistoryParts {
  session: Session;
  reads: Pick<Reads, 'acts' | 'history'>;
  writes: Pick<Writes, 'history'>;
  checkSpace: CheckSpace;
}

/** The history of a store in SQLite. */
export function sqliteHistory({ session, reads, writes, checkSpace }: SqliteHistoryParts): HistoryStore {
  return {
    nextAct: (after) => session.read(() => reads.acts.after(after)),
    historyState: () => session.read(() => reads.history.state()),
    requireRoom: (part) => session.run(() => checkSpace(part === 'older' ? 'olderHistory' : 'newHistory')),
    // NORMAL: what a loss of power undoes is indexed again, from acts that are there again.
    addEntries: (batch) => session.writeAsync(() => writes.history.addEntries(batch), 'NORMAL'),
    entries: (query, before, limit) => session.read(() => reads.history.page(query, before, limit)),
    entry: (n) => session.read(() => reads.history.entry(n)),
    firstSince: (idSequence, objects) => session.read(() => reads.history.firstSince(idSequence, objects)),
    revisionBefore: (idSequence) => session.read(() => reads.history.revisionBefore(idSequence)),
    revisionOf: (prefix) => session.read(() => reads.history.revisionOf(prefix)),
  };
}
