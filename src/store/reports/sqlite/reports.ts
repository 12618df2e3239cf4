import { Pace } from '../../../async/pace.ts';
import type { Database } from '../../../sqlite/connection.ts';
import type { Session } from '../../../sqlite/session.ts';
import type { NewOid } from '../../object-id.ts';
import { dropAll } from '../drop-all.ts';
import { ReportIntake, type ReportList } from '../intake.ts';
import type { OpenReports } from '../port.ts';
import { ReportPages } from './pages.ts';
import { ReportTable } from './table.ts';

/** What the reports of a store in SQLite depend on. */
export interface SqliteReportParts {
  session: Session;
  reader: Database;
  writer: Database;
  /** Throws `unavailable` while too little space is free. */
  checkSpace(): void;
  newOid: NewOid;
  /** Stores the last `_id` that was made, inside the caller's transaction. */
  setLastOid(oid: string): void;
  /** The most bytes of all reports together. */
  maxBytes: number;
}

/** The reports of a store in SQLite. */
export function sqliteReports(parts: SqliteReportParts): OpenReports {
  const { session, maxBytes } = parts;
  const pages = new ReportPages(parts.reader);
  const table = new ReportTable(parts.writer);
  // While another thread syncs the log, the next lists gather.
  const intake = new ReportIntake((take) => session.writeLater(() => insertLists(take(), table, parts)));
  return {
    insertReports: (reports, at) => session.run(() => intake.insert(reports, at)),
    reports: (query) => session.run(() => pages.page(query)),
    expireReports: (before) =>
      dropAll(() => session.write(() => table.expireSome(before) + table.evictSome(maxBytes))),
    close: () => intake.idle(),
  };
}

/** Inserts reports, and then deletes as many of the oldest as are too many. Yields to other work between reports. */
async function insertLists(
  lists: readonly ReportList[],
  table: ReportTable,
  { checkSpace, newOid, setLastOid, maxBytes }: SqliteReportParts,
): Promise<void> {
  const pace = new Pace();
  let lastOid: string | null = null;
  let bytes = 0;
  checkSpace();
  for (const { reports, at } of lists) {
    for (const report of reports) {
      lastOid = newOid(at);
      bytes += table.insert(lastOid, report, at);
      await pace.step();
    }
  }
  if (lastOid === null) return;
  setLastOid(lastOid);
  table.grow(bytes);
  while (table.evictSome(maxBytes) > 0) await pace.step();
}
