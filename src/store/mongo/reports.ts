import { setImmediate } from 'node:timers/promises';
import { Report } from '../../protocol/report.ts';
import { maxOid, oidGenerator } from '../object-id.ts';
import type { ReportPage, ReportQuery, StoredReport } from '../report.ts';
import { dropAll } from '../report-expiry.ts';
import { ReportIntake, type ReportList } from '../report-intake.ts';
import type { Committer } from './committer.ts';
import type { Documents, FleetRoot, FoundReport, ReportDocument, ReportsRoot } from './documents.ts';

/** What reports depend on. */
export interface ReportsOptions {
  documents: Documents;
  committer: Committer<ReportsRoot>;
  fleet: Committer<FleetRoot>;
  random(size: number): Uint8Array;
  /** The most bytes of all reports together, also of those that other programs put into the collection. */
  maxBytes: number;
}

/** Reports are measured again once this part of the limit has been added. */
const MEASURED_PART = 1 / 64;

/** The reports that came through the API, and those that other programs put into the same collection. */
export class Reports {
  readonly #options: ReportsOptions;
  /** The characters of reports that were added since the last measurement. */
  #unmeasured = Number.POSITIVE_INFINITY;
  readonly #intake = new ReportIntake((take) => this.#write(take));

  constructor(options: ReportsOptions) {
    this.#options = options;
  }

  insert(reports: readonly Report[], at: number): Promise<void> {
    return this.#intake.insert(reports, at);
  }

  /** Resolves when all earlier lists are written or have failed. */
  idle(): Promise<void> {
    return this.#intake.idle();
  }

  /**
   * Returns one page, shorter if reports are large. Skips documents of other programs that cannot be read as reports.
   */
  async page(query: ReportQuery): Promise<ReportPage> {
    const { committer } = this.#options;
    return committer.read(async ({ lastOid }) => {
      const { found, isEnd } = await this.#search(query, query.pageSize + 1, lastOid);
      const data = found.slice(0, Math.min(query.pageSize, isEnd ? found.length : found.length - 1));
      return { data, lastId: found.length > data.length ? (data.at(-1)?.oid ?? null) : null };
    });
  }

  expire(before: number): Promise<number> {
    const { documents } = this.#options;
    return dropAll(async () => (await documents.expireSomeReports(before)) || (await this.#evictSome()));
  }

  /** Waits for a later turn of the event loop, so that all lists of this turn are in the batch. */
  async #write(take: () => readonly ReportList[]): Promise<void> {
    const { committer, fleet, random } = this.#options;
    await setImmediate();
    const lists = take();
    const rows = lists.flatMap(({ reports, at }) => reports.map((report) => ({ ...report, at })));
    await committer.write(async ({ lastOid }) => {
      const newOid = oidGenerator(random, maxOid(lastOid, (await fleet.root()).lastOid));
      const documents = rows.map(({ report, at, body }) => reportDocument(newOid(at), at, report, body));
      const last = documents.at(-1);
      return {
        fields: last === undefined ? null : { lastOid: last._id },
        changes: documents.map((document) => ({ in: 'reports', document })),
        result: undefined,
      };
    });
    this.#unmeasured += rows.reduce((sum, { body }) => sum + body.length, 0);
    while (this.#unmeasured >= this.#options.maxBytes * MEASURED_PART && (await this.#evictSome()) > 0);
  }

  /**
   * Deletes some of the oldest reports if all together have more bytes than allowed; resolves to how many, 0 if they have no
   * more.
   */
  async #evictSome(): Promise<number> {
    const { documents, maxBytes } = this.#options;
    const { bytes, count } = await documents.measureReports();
    const excess = bytes - maxBytes;
    if (excess > 0) return documents.dropOldestReports(Math.ceil((excess * count) / bytes));
    this.#unmeasured = 0;
    return 0;
  }

  /**
   * Finds the first `limit` reports that can be read; fewer, but at least two, if large ones end the search early.
   * `isEnd` if no report follows them.
   */
  async #search(
    query: ReportQuery,
    limit: number,
    lastOid: string | null,
  ): Promise<{ found: StoredReport[]; isEnd: boolean }> {
    const found: StoredReport[] = [];
    let after = query.after?.toLowerCase();
    while (found.length < limit) {
      const part = { ...query, ...(after === undefined ? {} : { after }) };
      const { rows, isCut } = await this.#options.documents.reports(part, limit);
      const whole = beforeIncomplete(rows, lastOid);
      found.push(...whole.flatMap(readable));
      if (whole.length < rows.length || (rows.length < limit && !isCut)) return { found, isEnd: true };
      if (isCut && found.length > 1) break;
      after = rows.at(-1)?.oid;
    }
    return { found: found.slice(0, limit), isEnd: false };
  }
}

/** Leaves out everything from the first report of ours above the root's last id on: its list is not complete yet. */
function beforeIncomplete(rows: FoundReport[], lastOid: string | null): FoundReport[] {
  const end = rows.findIndex(({ isOurs, oid }) => isOurs && oid > (lastOid ?? ''));
  return end === -1 ? rows : rows.slice(0, end);
}

/** `arrived` is Unix milliseconds, `body` the report as JSON. */
function reportDocument(_id: string, arrived: number, report: Report, body: string): ReportDocument {
  const { hostname, device_group, report_creation_time, updated } = report;
  const flag = typeof updated === 'boolean' ? { updated } : {};
  return { _id, hostname, device_group, report_creation_time, ...flag, holdfast: { arrived, body } };
}

function readable({ oid, receivedAt, isOurs, report }: FoundReport): StoredReport[] {
  if (isOurs) return [{ oid, receivedAt, report: report as Report }];
  const parsed = Report.safeParse(report);
  return parsed.success ? [{ oid, receivedAt, report: parsed.data }] : [];
}
