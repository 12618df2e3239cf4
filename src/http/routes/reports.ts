import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify';
import * as z from 'zod';
import { forEachYielding, Pace } from '../../async/pace.ts';
import { check, explain } from '../../desired/explain.ts';
import type { ObjectId } from '../../protocol/info.ts';
import { MAX_REPORT_BYTES, Report } from '../../protocol/report.ts';
import { AcceptedReports, ReportPageRecord, SentReports } from '../../protocol/reports.ts';
import type { ReportStore } from '../../store/reports/port.ts';
import {
  type ReportPage,
  type ReportQuery,
  type StoredReport,
  TIME_COMPARISONS,
} from '../../store/reports/report.ts';
import type { Api } from '../api.ts';
import { reportErrorHandler } from '../errors.ts';
import { JSON_TYPE, sendParts } from '../json.ts';
import { bodyErrors, commonErrors, json, parameterErrors } from '../openapi/replies.ts';
import { route } from '../openapi/route.ts';
import { bodyOf } from '../request/body.ts';
import { readJson } from '../request/fields.ts';
import { pageSize } from '../request/page.ts';
import { parameter, Text, WholeNumber } from '../request/query.ts';
import { RequestRefused } from '../request-refused.ts';
import { sendAtRevision, withRevision } from '../revision.ts';

/** How many invalid reports of one request are named. A body has room for three hundred thousand. */
const MAX_INVALID = 20;

/** The last id of a page, as plain text or as the JSON that the page contains. */
const LAST_ID = /^([0-9A-Fa-f]{24}|\s*\{\s*"\$oid"\s*:\s*"[0-9A-Fa-f]{24}"\s*\}\s*)$/;
const LAST_ID_RULE = 'must be the last_id of a page: 24 hex digits';

/** The parameters of a query (docs/contract.md, 9.2). */
const Query = z
  .object({
    page_size: pageSize(10),
    hostname: Text.optional(),
    device_group: Text.optional(),
    report_creation_time: parameter(WholeNumber, z.int().min(0))
      .optional()
      .describe('Seconds since the Unix epoch.'),
    report_creation_time_filter: parameter(
      Text,
      z.enum(TIME_COMPARISONS, { error: `must be one of ${TIME_COMPARISONS.join(', ')}` }),
    )
      // The schema has no default, because generated clients would send it, even without a time.
      .optional()
      .describe('How to compare with report_creation_time, which must then be given. Without it: eq.'),
    updated: parameter(
      Text.regex(/^(true|false)$/i, 'must be true or false').transform((text) => /^true$/i.test(text)),
      z.boolean(),
    ).optional(),
    last_id: parameter(Text.regex(LAST_ID, LAST_ID_RULE), z.string().regex(LAST_ID))
      .transform((text) => /[0-9a-f]{24}/.exec(text.toLowerCase())?.[0] ?? '')
      .optional()
      .describe('The last_id of a page, to get the next one.'),
  })
  .superRefine((query, context) => {
    if (query.report_creation_time_filter === undefined || query.report_creation_time !== undefined) return;
    const message = 'requires report_creation_time';
    context.addIssue({ code: 'custom', path: ['report_creation_time_filter'], message });
  });

const tag = 'reports';
const queryRoute = route('GET', '/api/v2/reports', {
  operationId: 'queryReports',
  action: 'read',
  carriesRevision: true,
  needsRevision: false,
  summary: 'Query reports, page by page',
  tag,
  query: Query,
  reply: [200, json('A page of reports, in order of arrival.', ReportPageRecord)],
  errors: { ...commonErrors, ...parameterErrors },
});
const postRoute = route('POST', '/api/v2/reports', {
  operationId: 'sendReports',
  action: 'report',
  carriesRevision: true,
  needsRevision: false,
  isRoutine: true,
  summary: 'Send one report or an array of reports',
  tag,
  body: SentReports,
  reply: [200, json('All reports were stored.', AcceptedReports)],
  errors: { ...commonErrors, ...bodyErrors, ...parameterErrors },
});

/** Reports of devices. */
export function reportRoutes(app: FastifyInstance, { store, reports: kept, fleet, now }: Api): void {
  queryRoute(app, async (request, reply) => {
    const query = reportQuery(request.query);
    const value = await kept.reports(query);
    const revision = (await store.state()).applied?.revision ?? null;
    const isComplete = value.lastId === null || value.data.length === query.pageSize;
    if (!isComplete) return sendParts(request, withRevision(reply, revision), pageText(kept, query, value));
    // Reports are stored as they were sent. Serializing them by the schema would take a fifth of the time of a page.
    return sendAtRevision(reply.type(JSON_TYPE).serializer(JSON.stringify), 200, revision, {
      data: value.data.map(reportRecord),
      last_id: oidRecord(value.lastId),
    });
  });

  const receive = async (request: FastifyRequest, reply: FastifyReply): Promise<FastifyReply> => {
    const reports = await readReports(request);
    // Read first: devices send reports again after an error, so none may follow once they are stored.
    const { applied } = await store.state();
    const worthKeeping: Report[] = [];
    await forEachYielding(reports, (report) => {
      if (fleet.onReport(report)) worthKeeping.push(report);
    });
    if (worthKeeping.length > 0) await kept.insertReports(worthKeeping, now());
    return sendAtRevision(reply, 200, applied?.revision ?? null, { accepted: reports.length });
  };
  postRoute(app, receive, reportErrorHandler(now));
}

/** Yields the text of a page that the store returns in parts. Each part is read after the previous one is sent. */
async function* pageText(kept: ReportStore, query: ReportQuery, first: ReportPage): AsyncGenerator<string> {
  const next = ({ lastId }: ReportPage, pageSize: number): Promise<ReportPage> =>
    kept.reports({ ...query, pageSize, ...(lastId !== null && { after: lastId }) });
  let part = first;
  let remaining = query.pageSize;
  yield '{"data":[';
  for (let separator = ''; ; part = await next(part, remaining)) {
    if (part.data.length > 0) {
      yield separator + recordsText(part);
      separator = ',';
    }
    remaining -= part.data.length;
    if (remaining === 0 || part.lastId === null) break;
  }
  yield `],"last_id":${JSON.stringify(oidRecord(part.lastId))}}`;
}

function recordsText({ data }: ReportPage): string {
  return data.map((report) => JSON.stringify(reportRecord(report))).join(',');
}

function reportRecord({ oid, receivedAt, report }: StoredReport): object {
  return { ...report, _id: { $oid: oid }, received_at: new Date(receivedAt).toISOString() };
}

function oidRecord(oid: string | null): z.infer<typeof ObjectId> | null {
  return oid === null ? null : { $oid: oid };
}

function reportQuery(query: z.infer<typeof Query>): ReportQuery {
  const seconds = query.report_creation_time;
  return {
    pageSize: query.page_size,
    ...(query.hostname === undefined ? {} : { hostname: query.hostname }),
    ...(query.device_group === undefined ? {} : { deviceGroup: query.device_group }),
    ...(seconds === undefined
      ? {}
      : { creationTime: { comparison: query.report_creation_time_filter ?? 'eq', seconds } }),
    ...(query.updated === undefined ? {} : { updated: query.updated }),
    ...(query.last_id === undefined ? {} : { after: query.last_id }),
  };
}

/**
 * Reads one report or a list of them, and yields to other work on the way. If any report is invalid, rejects with a 400
 * that names the first invalid ones.
 */
async function readReports(request: FastifyRequest): Promise<Report[]> {
  const body = readJson(request);
  const tooLarge = findTooLarge(request);
  const items: unknown[] = Array.isArray(body) ? body : [body];
  const reports: Report[] = [];
  const problems: Problem[] = [];
  const pace = new Pace();
  let invalidCount = 0;
  for (let index = 0; index < items.length && invalidCount < MAX_INVALID; index++) {
    const parsed = check(Report, items[index]);
    const place = Array.isArray(body) ? [index] : [];
    const found = parsed.success ? tooLarge(parsed.data, place) : problemsOf(parsed.error, place);
    if (parsed.success && found.length === 0) reports.push(parsed.data);
    else {
      problems.push(...found);
      invalidCount += 1;
    }
    await pace.step();
  }
  if (invalidCount === 0) return reports;
  const invalid_parameters = Object.fromEntries(problems);
  throw new RequestRefused(400, 'a report is invalid', { invalid_parameters });
}

type Problem = readonly [path: string, why: string];

/** Returns a check of a report's size, which is not measured if the whole body is smaller. */
function findTooLarge(request: FastifyRequest): (report: Report, item: readonly number[]) => Problem[] {
  const body = bodyOf(request);
  if (body.state !== 'json' || body.bytes <= MAX_REPORT_BYTES) return () => [];
  return (report, item) => {
    const bytes = Buffer.byteLength(JSON.stringify(report));
    const why = `the report has ${bytes} bytes of JSON; at most ${MAX_REPORT_BYTES} are kept`;
    return bytes > MAX_REPORT_BYTES ? [[item.join('.') || 'body', why]] : [];
  };
}

function problemsOf(error: z.ZodError, item: readonly number[]): Problem[] {
  return explain(error.issues).map(({ path, message }) => [[...item, ...path].join('.') || 'body', message]);
}
