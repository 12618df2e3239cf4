import { hash } from 'node:crypto';
import type { FastifyInstance } from 'fastify';
import { countDevices } from '../../fleet/counts.ts';
import { DEVICE_STATES, type DeviceState } from '../../protocol/device.ts';
import { OPERATIONS } from '../../protocol/history.ts';
import { Summary } from '../../protocol/summary.ts';
import { PRODUCT_VERSION } from '../../version.ts';
import type { Api } from '../api.ts';
import { isNotModified, sendNotModified } from '../conditions.ts';
import { JSON_TYPE } from '../json.ts';
import { commonErrors, json, notModified } from '../openapi/replies.ts';
import { route } from '../openapi/route.ts';

const summaryRoute = route('GET', '/api/v2/summary', {
  operationId: 'getSummary',
  action: 'read',
  summary: 'How the fleet is, in a few numbers; with an ETag, for pages that ask again and again',
  tag: 'manager',
  reply: [200, json('The summary.', Summary)],
  errors: { ...commonErrors, ...notModified },
});

/** How the fleet is (docs/fleet.md). */
export function summaryRoutes(app: FastifyInstance, api: Api): void {
  summaryRoute(app, async (request, reply) => {
    const body = JSON.stringify(await summaryOf(api));
    const etag = `"${hash('sha256', body, 'base64url').slice(0, 27)}"`;
    reply.header('etag', etag);
    if (isNotModified(request, etag)) return sendNotModified(request, reply);
    return reply.type(JSON_TYPE).send(body);
  });
}

async function summaryOf({ reconciler, fleet, incidents, past, identity }: Api): Promise<Summary> {
  const { state, applied, problems } = reconciler.status();
  const known = await fleet.known();
  const { totals } = countDevices(known, fleet.anonymousPolls());
  const { served } = known.standard;
  const commit = applied === null ? null : await past.entryOf(applied.revision);
  return {
    version: PRODUCT_VERSION,
    fleet: identity.fleet,
    state,
    revision_applied: applied?.revision ?? null,
    applied_at: applied === null ? null : new Date(applied.at).toISOString(),
    subject: commit?.subject ?? null,
    actor: commit?.actor.name ?? null,
    problems: problems.filter(({ severity }) => severity === 'error').length,
    incidents: incidents.open().length,
    apps: served.apps.size,
    device_groups: served.groups.size,
    devices: Object.fromEntries(DEVICE_STATES.flatMap((each) => countOf(each, totals))),
    newest: { commit: await past.newest(['commit']), operation: await past.newest(OPERATIONS) },
    forge: identity.forge,
  };
}

function countOf(
  state: DeviceState,
  totals: Readonly<Record<Exclude<DeviceState, 'gone'>, number>>,
): [DeviceState, number][] {
  return state === 'gone' || totals[state] === 0 ? [] : [[state, totals[state]]];
}
