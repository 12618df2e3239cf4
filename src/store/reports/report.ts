import type { Report } from '../../protocol/report.ts';

export const TIME_COMPARISONS = ['eq', 'gt', 'lt', 'gte', 'lte', 'ne'] as const;
export type TimeComparison = (typeof TIME_COMPARISONS)[number];

/** A query for one page of reports. A filter that is left out matches every report. */
export interface ReportQuery {
  pageSize: number;
  hostname?: string;
  deviceGroup?: string;
  /** Compares `report_creation_time` with `seconds` since the Unix epoch. */
  creationTime?: { comparison: TimeComparison; seconds: number };
  updated?: boolean;
  /** Only reports with an `_id` above this one: 24 hex digits. */
  after?: string;
}

/**
 * A page of reports. `lastId` is the `_id` to continue after; null if this is the last page. If reports are large, a
 * page can have fewer than were requested although more follow.
 */
export interface ReportPage {
  data: StoredReport[];
  lastId: string | null;
}

/** A report with its `_id` as 24 hex digits, and the time at which it arrived, Unix milliseconds. */
export interface StoredReport {
  oid: string;
  receivedAt: number;
  report: Report;
}
