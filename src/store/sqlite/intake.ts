import { Pace } from '../pace.ts';
import type { Report } from '../report.ts';
import type { Writes } from './tables.ts';

/** `Store.insertReports` inside the caller's transaction; gives way to others between reports. */
export async function insertReports(writes: Writes, reports: readonly Report[], at: number): Promise<void> {
  const pace = new Pace();
  let lastOid: string | null = null;
  for (const report of reports) {
    lastOid = writes.newOid(at);
    writes.reports.insert(lastOid, report, at);
    await pace.step();
  }
  if (lastOid !== null) writes.state.setLastOid(lastOid);
}
