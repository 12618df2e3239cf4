import { type Database, prepare, type Statement } from '../../../sqlite/connection.ts';
import type { SerializedReport } from '../intake.ts';
import { indexText } from './filter.ts';

/**
 * The bytes of a row of `reports`, in SQL: its texts in the table and in the indexes, and about as much as the rest takes.
 * `state.report_bytes` is the sum.
 */
const REPORT_BYTES = 'octet_length(body) + 2 * octet_length(hostname) + 3 * octet_length(device_group) + 200';

/** How many reports `expireSome` and `evictSome` delete: a few milliseconds of work. */
const DELETE_AT_ONCE = 200;

interface Bytes {
  bytes: number;
}

/** Changes reports, inside the caller's transaction. Keeps `state.report_bytes`, the bytes of all reports. */
export class ReportTable {
  readonly #insert: Statement<Bytes>;
  readonly #expire: Statement<Bytes>;
  readonly #total: Statement<Bytes>;
  readonly #grow: Statement<never>;
  readonly #oldest: Statement<Bytes & { seq: number }>;
  readonly #deleteUpTo: Statement<never>;

  constructor(db: Database) {
    this.#insert = prepare(
      db,
      `INSERT INTO reports (oid, arrived, hostname, device_group, created, updated, body)
       VALUES (?, ?, ?, ?, ?, ?, ?) RETURNING ${REPORT_BYTES} AS bytes`,
    );
    this.#expire = prepare(
      db,
      `DELETE FROM reports WHERE seq IN
       (SELECT seq FROM reports INDEXED BY reports_by_arrival WHERE arrived < ? LIMIT ${DELETE_AT_ONCE})
       RETURNING ${REPORT_BYTES} AS bytes`,
    );
    this.#total = prepare(db, 'SELECT report_bytes AS bytes FROM state');
    this.#grow = prepare(db, 'UPDATE state SET report_bytes = max(0, report_bytes + ?)');
    this.#oldest = prepare(
      db,
      `SELECT seq, ${REPORT_BYTES} AS bytes FROM reports NOT INDEXED ORDER BY seq LIMIT ${DELETE_AT_ONCE}`,
    );
    this.#deleteUpTo = prepare(db, 'DELETE FROM reports WHERE seq <= ?');
  }

  /**
   * Inserts a report. `oid` must be above all earlier ones; `at` is the time of arrival in Unix milliseconds. Returns its
   * bytes, which the caller must pass to `grow`.
   */
  insert(oid: string, { report, body }: SerializedReport, at: number): number {
    const { report_creation_time: created, updated } = report;
    const hostname = indexText(report.hostname);
    const group = indexText(report.device_group);
    const flag = typeof updated === 'boolean' ? Number(updated) : null;
    return this.#insert.get(oid, at, hostname, group, created, flag, body)?.bytes ?? 0;
  }

  /** Adds the bytes of inserted reports to those of all. */
  grow(bytes: number): void {
    this.#grow.run(bytes);
  }

  /** Deletes some of the reports that arrived before `before`. Returns their number; 0 if there are none left. */
  expireSome(before: number): number {
    const deleted = this.#expire.all(before);
    if (deleted.length > 0) this.grow(-sumOf(deleted));
    return deleted.length;
  }

  /**
   * Deletes some of the oldest reports if all together have more than `maxBytes`. Returns their number; 0 if the rest has no
   * more than that.
   */
  evictSome(maxBytes: number): number {
    const excess = (this.#total.get()?.bytes ?? 0) - maxBytes;
    if (excess <= 0) return 0;
    let bytes = 0;
    const evicted = this.#oldest.all().filter((row) => {
      const isEvicted = bytes < excess;
      if (isEvicted) bytes += row.bytes;
      return isEvicted;
    });
    const last = evicted.at(-1);
    if (last === undefined) return 0;
    this.#deleteUpTo.run(last.seq);
    this.grow(-bytes);
    return evicted.length;
  }
}

function sumOf(rows: readonly Bytes[]): number {
  return rows.reduce((sum, { bytes }) => sum + bytes, 0);
}
