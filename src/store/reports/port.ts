import type { Report } from '../../protocol/report.ts';
import type { ReportPage, ReportQuery } from './report.ts';

/** Keeps the reports of devices. */
export interface ReportStore {
  /**
   * Stores all of the reports or none, and gives each an `_id` that is higher than all that this manager gave before, in
   * the order of the list. In MongoDB, a call that rejects can have stored some. `at` is the time of their arrival, in Unix milliseconds. If all reports together then have more bytes than
   * the store was opened with, deletes the oldest. Rejects as `unavailable` while so little space is free that the rest of
   * the store needs it.
   */
  insertReports(reports: readonly Report[], at: number): Promise<void>;
  /** Resolves to a page of the reports that match the query, in ascending order of `_id`. */
  reports(query: ReportQuery): Promise<ReportPage>;
  /**
   * Deletes the reports that arrived before `before` (Unix milliseconds), and the oldest of those that are too many, in
   * portions. Resolves to their number.
   */
  expireReports(before: number): Promise<number>;
}

/** The reports of a store that can be closed. */
export interface OpenReports extends ReportStore {
  /** Refuses later calls, and resolves when all earlier lists are stored or have failed. */
  close(): Promise<void>;
}
