import type { FastifyInstance, FastifyRequest } from 'fastify';
import { z } from 'zod';
import { explain } from '../../desired/explain.ts';
import { HoldfastError } from '../../errors.ts';
import { Report, type ReportQuery, TIME_COMPARISONS } from '../../store/report.ts';
import { type Api, send } from '../api.ts';
import { badFields, readJson } from '../body.ts';
import { commonErrors, documented, writeErrors } from '../replies.ts';

const OID = /^[0-9a-f]{24}$/i;

/** One text, as it stands in the query: a key that is repeated becomes a list, which no parameter is. */
const One = z.string({ error: 'must be given once' }).min(1, 'must not be empty');
const WholeNumber = One.regex(/^\d{1,15}$/, 'must be a whole number').transform(Number);

/** A page's last id, plain or as the JSON that a page shows. */
const LastId = One.transform((text, context) => {
  const oid = /^\s*\{\s*"\$oid"\s*:\s*"([^"]*)"\s*\}\s*$/.exec(text)?.[1] ?? text;
  if (OID.test(oid)) return oid.toLowerCase();
  context.addIssue({ code: 'custom', message: 'must be the last_id of a page: 24 hex digits' });
  return z.NEVER;
});

/** The parameters of a query (contract, "Reports query"; decisions, "Reports"). */
const Query = z
  .object({
    page_size: WholeNumber.pipe(
      z.int().min(1, 'must be 1 or more').max(1000, 'must be 1000 or less'),
    ).default(10),
    hostname: One.optional(),
    device_group: One.optional(),
    report_creation_time: WholeNumber.optional(),
    report_creation_time_filter: One.pipe(
      z.enum(TIME_COMPARISONS, { error: `must be one of ${TIME_COMPARISONS.join(', ')}` }),
    ).optional(),
    updated: One.regex(/^(true|false)$/i, 'must be true or false').optional(),
    last_id: LastId.optional(),
  })
  .superRefine((query, context) => {
    if (query.report_creation_time_filter === undefined || query.report_creation_time !== undefined) return;
    const message = 'needs report_creation_time to compare with';
    context.addIssue({ code: 'custom', path: ['report_creation_time_filter'], message });
  });

const Oid = z.object({ $oid: z.string() });
const Page = z
  .object({ data: z.array(z.looseObject({ _id: Oid, ...Report.shape })), last_id: Oid.nullable() })
  .meta({ id: 'ReportPage' });

const tag = 'reports';
const queryDocs = documented({
  summary: 'Query reports, page by page',
  tag,
  querystring: Query,
  reply: [200, Page],
  errors: { ...commonErrors, 400: writeErrors[400] },
});
const postDocs = documented({
  summary: 'Take one report or an array of them',
  tag,
  body: z.union([Report, z.array(Report)]),
  reply: [200, z.object({ accepted: z.int() })],
  errors: writeErrors,
});

/** Reports of devices. */
export function reportRoutes(app: FastifyInstance, { store, now }: Api): void {
  app.get('/api/v2/reports', queryDocs, async (request, reply) => {
    const { value, revision } = await store.reports(readQuery(request));
    const data = value.data.map(({ oid, report }) => ({ ...report, _id: { $oid: oid } }));
    return send(reply, 200, revision, {
      data,
      last_id: value.lastId === null ? null : { $oid: value.lastId },
    });
  });

  app.post('/api/v2/reports', postDocs, async (request, reply) => {
    const reports = readReports(request);
    if (reports.length > 0) await store.insertReports(reports, now());
    return send(reply, 200, (await store.state()).applied?.revision ?? null, { accepted: reports.length });
  });
}

function readQuery(request: FastifyRequest): ReportQuery {
  refuseOperators(request.query as Record<string, unknown>);
  const parsed = Query.safeParse(request.query, { reportInput: true });
  if (!parsed.success) throw badFields(parsed.error.issues, []);
  const query = parsed.data;
  const seconds = query.report_creation_time;
  return {
    pageSize: query.page_size,
    ...(query.hostname === undefined ? {} : { hostname: query.hostname }),
    ...(query.device_group === undefined ? {} : { deviceGroup: query.device_group }),
    ...(seconds === undefined
      ? {}
      : { creationTime: { comparison: query.report_creation_time_filter ?? 'eq', seconds } }),
    ...(query.updated === undefined ? {} : { updated: query.updated.toLowerCase() === 'true' }),
    ...(query.last_id === undefined ? {} : { after: query.last_id }),
  };
}

/** Unknown parameters are ignored, but not attempts to smuggle in an operator: `hostname[$ne]=x`. */
function refuseOperators(query: Record<string, unknown>): void {
  const operators = Object.keys(query).filter((key) => key.includes('$'));
  if (operators.length === 0) return;
  const why = 'operators are not taken';
  throw new HoldfastError('invalid', why, {
    invalid_parameters: Object.fromEntries(operators.map((key) => [key, why])),
  });
}

/** One report or many; a bad one keeps all of them out, and its place is named. */
function readReports(request: FastifyRequest): Report[] {
  const body = readJson(request);
  const items: unknown[] = Array.isArray(body) ? body : [body];
  const invalid: Record<string, string> = {};
  const reports = items.flatMap((item, index) => {
    const parsed = Report.safeParse(item, { reportInput: true });
    if (parsed.success) return [parsed.data];
    for (const { path, message } of explain(parsed.error.issues)) {
      invalid[[...(Array.isArray(body) ? [index] : []), ...path].join('.') || 'body'] = message;
    }
    return [];
  });
  if (Object.keys(invalid).length === 0) return reports;
  throw new HoldfastError('invalid', 'a report is not acceptable', { invalid_parameters: invalid });
}
