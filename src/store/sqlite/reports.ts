import type { Report } from '../../protocol/report.ts';
import { type Database, prepare, type Statement } from './connection.ts';
import { indexText } from './report-query.ts';

/** How many reports `expireSome` deletes: a few milliseconds of work. */
const EXPIRE_AT_ONCE = 200;

/** Changes reports, inside the caller's transaction. */
export class Reports {
  readonly #insert: Statement<never>;
  readonly #expire: Statement<never>;

  constructor(db: Database) {
    this.#insert = prepare(
      db,
      `INSERT INTO reports (oid, arrived, hostname, device_group, created, updated, body)
       VALUES (?, ?, ?, ?, ?, ?, ?)`,
    );
    this.#expire = prepare(
      db,
      `DELETE FROM reports WHERE seq IN
       (SELECT seq FROM reports INDEXED BY reports_by_arrival WHERE arrived < ? LIMIT ${EXPIRE_AT_ONCE})`,
    );
  }

  /** Inserts a report. `oid` must be above all earlier ones; `at` is the time of arrival in Unix milliseconds. */
  insert(oid: string, report: Report, at: number): void {
    const { report_creation_time: created, updated } = report;
    const hostname = indexText(report.hostname);
    const group = indexText(report.device_group);
    const flag = typeof updated === 'boolean' ? Number(updated) : null;
    this.#insert.run(oid, at, hostname, group, created, flag, JSON.stringify(report));
  }

  /** Deletes some of the reports that arrived before `before`. Returns their number; 0 if there are none left. */
  expireSome(before: number): number {
    return this.#expire.run(before).changes;
  }
}
