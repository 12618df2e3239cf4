import type { FastifyInstance } from 'fastify';
import * as z from 'zod';
import { IncidentPage, type IncidentRecord } from '../../protocol/incident.ts';
import type { Incident } from '../../store/incidents/incident.ts';
import type { Api } from '../api.ts';
import { commonErrors, json, parameterErrors } from '../openapi/replies.ts';
import { route } from '../openapi/route.ts';
import { pageSize } from '../request/page.ts';
import { Text } from '../request/query.ts';

const Query = z.strictObject({
  page_size: pageSize(50),
  after: Text.regex(/^[0-9a-f]{12}$/, 'must be a cursor, as `next` of the page before has it').optional(),
});

const incidentsRoute = route('GET', '/api/v2/incidents', {
  operationId: 'listIncidents',
  action: 'read',
  summary: 'List what is wrong, and what was: the open incidents first, then those that ended',
  tag: 'manager',
  query: Query,
  reply: [200, json('A page of incidents, the newest first.', IncidentPage)],
  errors: { ...commonErrors, ...parameterErrors },
});

/** What is wrong, and what was (docs/fleet.md). */
export function incidentRoutes(app: FastifyInstance, { incidents }: Api): void {
  incidentsRoute(app, async (request) => {
    const { page_size: size, after } = request.query;
    const all = incidents.all();
    // One that has ended since the page before is further down now: the list goes on from its end.
    const start = after === undefined ? 0 : all.findIndex(({ id }) => id === after) + 1;
    const page = all.slice(start, start + size);
    const next = start + size < all.length ? (page.at(-1)?.id ?? null) : null;
    return { incidents: page.map(incidentRecord), next } satisfies IncidentPage;
  });
}

function incidentRecord({ since, toldAt, until, ...rest }: Incident): IncidentRecord {
  const time = (at: number | null): string | null => (at === null ? null : new Date(at).toISOString());
  return { ...rest, since: new Date(since).toISOString(), told_at: time(toldAt), until: time(until) };
}
