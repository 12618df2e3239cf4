import * as z from 'zod';

const TOO_LATE = `must be ${Number.MAX_SAFE_INTEGER} or less`;

/** A report as devices send it. Three fields are checked; all others are kept as sent (decisions, "Reports"). */
export const Report = z.looseObject({
  hostname: z.string().min(1, 'must not be empty'),
  device_group: z.string().min(1, 'must not be empty'),
  report_creation_time: z
    .int({ error: ({ code }) => (code === 'too_big' ? TOO_LATE : 'must be a whole number of seconds') })
    .min(0, 'must be 0 or more')
    .meta({ description: 'Seconds since the Unix epoch.' }),
});
export type Report = z.infer<typeof Report>;

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

/** A report with its `_id` as 24 hex digits. */
export interface StoredReport {
  oid: string;
  report: Report;
}
