import { setImmediate } from 'node:timers/promises';
import { closedError } from '../../../errors.ts';
import type { Connection } from '../../../mongo/connection.ts';
import { Report } from '../../../protocol/report.ts';
import { COLLECTIONS } from '../../schema/mongo.ts';
import { dropAll } from '../drop-all.ts';
import { ReportIntake, type ReportList } from '../intake.ts';
import type { OpenReports } from '../port.ts';
import type { ReportPage, ReportQuery, StoredReport } from '../report.ts';
import {
  dropOldest,
  expireSome,
  type FoundReport,
  findReports,
  measureReports,
  type ReportDocument,
} from './queries.ts';

/** Reports are measured again once this part of the limit has been added. */
const MEASURED_PART = 1 / 64;

/** The reports that came through the API, and those that other programs put into the same collection. */
export class MongoReports implements OpenReports {
  readonly #connection: Connection;
  readonly #maxBytes: number;
  /** The characters of reports that were added since the last measurement. */
  #unmeasured = Number.POSITIVE_INFINITY;
  #isClosed = false;
  readonly #intake = new ReportIntake((take) => this.#write(take));

  /** `maxBytes` limits all reports together, also those that other programs put into the collection. */
  constructor(connection: Connection, maxBytes: number) {
    this.#connection = connection;
    this.#maxBytes = maxBytes;
  }

  async insertReports(reports: readonly Report[], at: number): Promise<void> {
    if (this.#isClosed) throw closedError();
    return this.#intake.insert(reports, at);
  }

  close(): Promise<void> {
    this.#isClosed = true;
    return this.#intake.idle();
  }

  /**
   * Returns one page, shorter if reports are large. Skips documents of other programs that cannot be read as reports.
   */
  async reports(query: ReportQuery): Promise<ReportPage> {
    const { found, isEnd } = await this.#search(query, query.pageSize + 1);
    const data = found.slice(0, Math.min(query.pageSize, isEnd ? found.length : found.length - 1));
    return { data, lastId: found.length > data.length ? (data.at(-1)?.oid ?? null) : null };
  }

  expireReports(before: number): Promise<number> {
    return dropAll(
      async () => (await this.#connection.run((db) => expireSome(db, before))) || (await this.#evictSome()),
    );
  }

  /** Waits for a later turn of the event loop, so that all lists of this turn are in the batch. */
  async #write(take: () => readonly ReportList[]): Promise<void> {
    await setImmediate();
    const rows = take().flatMap(({ reports, at }) => reports.map((report) => ({ ...report, at })));
    if (rows.length === 0) return;
    const documents = rows.map(({ report, at, body }) => reportDocument(at, report, body));
    await this.#connection.run((db) =>
      db.collection<ReportDocument>(COLLECTIONS.reports).insertMany(documents),
    );
    this.#unmeasured += rows.reduce((sum, { body }) => sum + body.length, 0);
    while (this.#unmeasured >= this.#maxBytes * MEASURED_PART && (await this.#evictSome()) > 0);
  }

  /**
   * Deletes some of the oldest reports if all together have more bytes than allowed; resolves to how many, 0 if they have no
   * more.
   */
  async #evictSome(): Promise<number> {
    const { bytes, count } = await this.#connection.run(measureReports);
    const excess = bytes - this.#maxBytes;
    if (excess > 0) {
      const oldest = Math.ceil((excess * count) / bytes);
      return this.#connection.run((db) => dropOldest(db, oldest));
    }
    this.#unmeasured = 0;
    return 0;
  }

  /**
   * Finds the first `limit` reports that can be read; fewer, but at least two, if large ones end the search early.
   * `isEnd` if no report follows them.
   */
  async #search(query: ReportQuery, limit: number): Promise<{ found: StoredReport[]; isEnd: boolean }> {
    const found: StoredReport[] = [];
    let after = query.after?.toLowerCase();
    while (found.length < limit) {
      const part = { ...query, ...(after === undefined ? {} : { after }) };
      const { rows, isCut } = await this.#connection.run((db) => findReports(db, part, limit));
      found.push(...rows.flatMap(readable));
      if (rows.length < limit && !isCut) return { found, isEnd: true };
      if (isCut && found.length > 1) break;
      after = rows.at(-1)?.oid;
    }
    return { found: found.slice(0, limit), isEnd: false };
  }
}

/** `arrived` is Unix milliseconds, `body` the report as JSON. */
function reportDocument(arrived: number, report: Report, body: string): ReportDocument {
  const { hostname, device_group, report_creation_time, updated } = report;
  const flag = typeof updated === 'boolean' ? { updated } : {};
  return { hostname, device_group, report_creation_time, ...flag, holdfast: { arrived, body } };
}

function readable({ oid, receivedAt, isOurs, report }: FoundReport): StoredReport[] {
  if (isOurs) return [{ oid, receivedAt, report: report as Report }];
  const parsed = Report.safeParse(report);
  return parsed.success ? [{ oid, receivedAt, report: parsed.data }] : [];
}
