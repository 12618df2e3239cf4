import { setImmediate } from 'node:timers/promises';
import { HoldfastError } from '../../errors.ts';
import { higherOid, type NewOid, objectIds } from '../object-id.ts';
import { Report, type ReportPage, type ReportQuery, type StoredReport } from '../report.ts';
import type { Committer } from './committer.ts';
import type { Change, Documents, FleetHead, FoundReport, ReportsHead } from './documents.ts';

/** What reports work with. */
export interface ReportsOptions {
  documents: Documents;
  committer: Committer<ReportsHead>;
  fleet: Committer<FleetHead>;
  random(size: number): Uint8Array;
}

/** A list of reports on its way, and whoever waits for it. */
interface Waiting {
  reports: readonly Report[];
  /** JSON of each. */
  bodies: string[];
  at: number;
  resolve(): void;
  reject(error: unknown): void;
}

/** Reports that go into one write, at least one list. */
const AT_ONCE = 1000;

/** The reports of the API and those that others put into the same collection. */
export class Reports {
  readonly #options: ReportsOptions;
  #waiting: Waiting[] = [];
  #intake: Promise<void> | null = null;

  constructor(options: ReportsOptions) {
    this.#options = options;
  }

  /** Lists that wait are written together: devices come by the thousand, and a write is a few round trips. */
  async insert(reports: readonly Report[], at: number): Promise<void> {
    const bodies = reports.map((report) => JSON.stringify(report));
    if (reports.length === 0) return;
    await new Promise<void>((resolve, reject) => {
      this.#waiting.push({ reports, bodies, at, resolve, reject });
      this.#intake ??= this.#takeIn();
    });
  }

  /** Waits for the lists that were given before. */
  async idle(): Promise<void> {
    await this.#intake;
    await this.#options.committer.idle();
  }

  /** One page, which large reports end early; what others put there and cannot be read as a report is passed over. */
  async page(query: ReportQuery): Promise<ReportPage> {
    const { committer } = this.#options;
    return committer.read(async ({ lastOid }) => {
      const { found, isEnd } = await this.#search(query, query.pageSize + 1, lastOid);
      const data = found.slice(0, Math.min(query.pageSize, isEnd ? found.length : found.length - 1));
      return { data, lastId: found.length > data.length ? (data.at(-1)?.oid ?? null) : null };
    });
  }

  async expire(before: number): Promise<number> {
    let total = 0;
    let dropped: number;
    do {
      dropped = await this.#options.documents.expireReports(before);
      total += dropped;
      await setImmediate();
    } while (dropped > 0);
    return total;
  }

  async #takeIn(): Promise<void> {
    await setImmediate();
    while (this.#waiting.length > 0) {
      const lists = this.#nextLists();
      try {
        await this.#write(lists);
        for (const list of lists) list.resolve();
      } catch (error) {
        for (const list of lists) list.reject(error);
      }
    }
    this.#intake = null;
  }

  #nextLists(): Waiting[] {
    let count = 0;
    const after = this.#waiting.findIndex(({ reports }, index) => {
      count += reports.length;
      return index > 0 && count > AT_ONCE;
    });
    return this.#waiting.splice(0, after === -1 ? this.#waiting.length : after);
  }

  #write(lists: readonly Waiting[]): Promise<void> {
    const { committer, fleet, random } = this.#options;
    return committer.write(async ({ lastOid }) => {
      const newOid = objectIds(random, higherOid(lastOid, (await fleet.head()).lastOid));
      const changes = lists.flatMap((list) => changesOf(list, newOid));
      const last = changes.at(-1);
      if (last?.in !== 'reports') throw new HoldfastError('internal', 'there are no reports to write');
      return { fields: { lastOid: last.document._id }, changes, result: undefined };
    });
  }

  /**
   * The first `limit` that can be read; at least two where large ones end the search early. `isEnd` tells that nothing comes after
   * them.
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

/** Ours above the head's last id are of a list that is not complete yet: the page ends before them. */
function beforeIncomplete(rows: FoundReport[], lastOid: string | null): FoundReport[] {
  const end = rows.findIndex(({ isOurs, oid }) => isOurs && oid > (lastOid ?? ''));
  return end === -1 ? rows : rows.slice(0, end);
}

function changesOf({ reports, bodies, at }: Waiting, newOid: NewOid): Change[] {
  return reports.map(({ hostname, device_group, report_creation_time, updated }, index) => ({
    in: 'reports',
    document: {
      _id: newOid(at),
      hostname,
      device_group,
      report_creation_time,
      ...(typeof updated === 'boolean' ? { updated } : {}),
      holdfast: { arrived: at, body: bodies[index] ?? '' },
    },
  }));
}

function readable({ oid, isOurs, report }: FoundReport): StoredReport[] {
  if (isOurs) return [{ oid, report: report as Report }];
  const parsed = Report.safeParse(report);
  return parsed.success ? [{ oid, report: parsed.data }] : [];
}
