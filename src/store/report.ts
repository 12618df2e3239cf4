import * as z from 'zod';

const TOO_LATE = `must be ${Number.MAX_SAFE_INTEGER} or less`;

/** A report as devices send it: three known fields, the rest is kept as sent (decisions, "Reports"). */
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

/** A query for one page. Filters that are absent do not filter. */
export interface ReportQuery {
  pageSize: number;
  hostname?: string;
  deviceGroup?: string;
  /** Seconds since the Unix epoch, and how to compare with it. */
  creationTime?: { comparison: TimeComparison; seconds: number };
  updated?: boolean;
  /** 24 hex digits: only reports after this one. */
  after?: string;
}

/**
 * A page. `lastId` is null when nothing comes after it; where reports are large, a page may end early and have fewer
 * than were asked for although more come after it.
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
