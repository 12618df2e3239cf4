import { Pace } from '../../../async/pace.ts';
import type { Report } from '../../../protocol/report.ts';
import { type Database, prepare, type Statement } from '../../../sqlite/connection.ts';
import type { ReportPage, ReportQuery, StoredReport } from '../report.ts';
import { reportFilter, timeCondition } from './filter.ts';

/** The most rows that one statement scans: a few milliseconds of work, with any filters. */
const WINDOW = 20_000;

/** The most bytes of a body that is read with its row. Larger bodies are read one by one. */
const MAX_INLINE_BODY = 16_384;
/** A page ends once its bodies have this many characters: it can have a thousand reports of a megabyte each. */
const MAX_PAGE_TEXT = 4_194_304;

const BODY = `CASE WHEN octet_length(body) <= ${MAX_INLINE_BODY} THEN body END AS body`;

interface ReportRow {
  oid: string;
  arrived: number;
  /** JSON; null if it is large. */
  body: string | null;
}

/** The reports with a `seq` above `after` and up to `last`. */
interface Range {
  after: number;
  last: number;
}

/** The lowest and highest `seq` of the reports that match a time, and their number. */
interface Probe {
  first: number | null;
  last: number | null;
  count: number;
}

/** Reads pages of reports. */
export class ReportPages {
  readonly #db: Database;
  readonly #ends: Statement<{ first: number | null; last: number | null }>;
  readonly #position: Statement<{ seq: number }>;
  readonly #body: Statement<{ body: string }>;
  /** Statements by their SQL text: one for each combination of filters in use. */
  readonly #statements = new Map<string, Statement<unknown>>();

  constructor(db: Database) {
    this.#db = db;
    this.#ends = prepare(
      db,
      'SELECT (SELECT min(seq) FROM reports) AS first, (SELECT max(seq) FROM reports) AS last',
    );
    this.#position = prepare(db, 'SELECT seq FROM reports WHERE oid <= ? ORDER BY oid DESC LIMIT 1');
    this.#body = prepare(db, 'SELECT body FROM reports WHERE oid = ?');
  }

  /** See `Store.reports`. Yields to other work between the portions of a long search. */
  async page(query: ReportQuery): Promise<ReportPage> {
    const rows = await this.#search(query, query.pageSize + 1);
    const data: StoredReport[] = [];
    let [seen, text] = [0, 0];
    for (const { oid, arrived: receivedAt, body: inline } of rows) {
      if (seen === query.pageSize || text >= MAX_PAGE_TEXT) break;
      seen += 1;
      // A body that is missing was deleted after the search.
      const body = inline ?? this.#body.get(oid)?.body;
      if (body === undefined) continue;
      data.push({ oid, receivedAt, report: JSON.parse(body) as Report });
      text += body.length;
    }
    return { data, lastId: rows.length > seen ? (rows[seen - 1]?.oid ?? null) : null };
  }

  /** Returns the first `limit` rows that match. */
  async #search(query: ReportQuery, limit: number): Promise<ReportRow[]> {
    const { index, conditions, values } = reportFilter(query);
    const where = [...conditions, 'seq > ?', 'seq <= ?'].join(' AND ');
    const sql = `SELECT oid, arrived, ${BODY} FROM reports ${index} WHERE ${where} ORDER BY seq LIMIT ?`;
    const window = this.#statement<ReportRow>(sql);
    const pace = new Pace();
    let range = this.#range(query);
    const take = (): ReportRow[] => {
      const { after } = range;
      range = { ...range, after: after + WINDOW };
      return window.all(...values, after, after + WINDOW, limit);
    };
    const rows = range.after < range.last ? take() : [];
    // Most pages are full by now. If few reports match, it pays to find out where they are.
    if (rows.length < limit) range = this.#narrow(range, query.creationTime);
    while (range.after < range.last && rows.length < limit) {
      await pace.step();
      rows.push(...take());
    }
    return rows.slice(0, limit);
  }

  /** Returns the range of all reports after the previous page. */
  #range(query: ReportQuery): Range {
    const { first, last } = this.#ends.get() ?? { first: null, last: null };
    if (first === null || last === null) return { after: 0, last: 0 };
    const start = query.after === undefined ? undefined : this.#position.get(query.after.toLowerCase());
    return { after: start?.seq ?? first - 1, last };
  }

  /**
   * Narrows the range to the reports that match a time, if these can be found quickly. Times rise roughly with `seq`,
   * so if few reports match, they are in a small part of the range.
   */
  #narrow(range: Range, time: ReportQuery['creationTime']): Range {
    if (time === undefined || time.comparison === 'ne') return range;
    const where = timeCondition(time.comparison);
    const probe = this.#statement<Probe>(
      `SELECT min(seq) AS first, max(seq) AS last, count(*) AS count FROM
       (SELECT seq FROM reports INDEXED BY reports_by_time WHERE ${where} LIMIT ${WINDOW})`,
    );
    const found = probe.get(time.seconds);
    if (found === undefined || found.count === WINDOW) return range;
    return {
      after: Math.max(range.after, (found.first ?? 1) - 1),
      last: Math.min(range.last, found.last ?? 0),
    };
  }

  #statement<Row>(sql: string): Statement<Row> {
    const cached = this.#statements.get(sql) as Statement<Row> | undefined;
    if (cached !== undefined) return cached;
    const statement = prepare<Row>(this.#db, sql);
    this.#statements.set(sql, statement);
    return statement;
  }
}
