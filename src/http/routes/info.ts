import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify';
import { absentError } from '../../change/refusals.ts';
import { HoldfastError } from '../../errors.ts';
import { InfoRecord } from '../../protocol/info.ts';
import { GROUP_HEADER, INSTANCE_HEADER } from '../../protocol/poll.ts';
import type { Api } from '../api.ts';
import { isNotModified, sendNotModified } from '../conditions.ts';
import { plainTextErrorHandler } from '../errors.ts';
import type { InfoEntry } from '../info/entries.ts';
import { JSON_TYPE } from '../json.ts';
import { json, notModified, plainText, readErrors } from '../openapi/replies.ts';
import { route } from '../openapi/route.ts';
import { nameIn } from '../request/name.ts';
import { withRevision } from '../revision.ts';

export const INFO_ROUTE = '/api/v2/device_groups/:device_group_name/info';

const infoRoute = route('GET', INFO_ROUTE, {
  operationId: 'getDeviceGroupInfo',
  action: 'poll',
  summary: 'Everything that a device of the group needs; devices poll this',
  tag: 'devices',
  object: { kind: 'device_group' },
  // Until then, its reply must not be JSON.
  needsRevision: false,
  isRoutine: true,
  reply: [200, json('The group with all its apps.', InfoRecord)],
  errors: {
    ...readErrors('device_group'),
    503: plainText(
      'Temporarily unavailable. Never JSON: workers take JSON without apps as the order to stop all containers.',
    ),
    ...notModified,
  },
});

/** The endpoint that all devices poll. `info-shortcut.ts` answers most of the polls, so few reach this route. */
export function infoRoutes(app: FastifyInstance, api: Api): void {
  const handler = async (request: FastifyRequest, reply: FastifyReply): Promise<FastifyReply> => {
    const entry = await readInfo(api, nameIn(request, 'device_group'));
    const more = hear(api, request, entry);
    for (let index = 0; index < more.length; index += 2) reply.header(more[index] ?? '', more[index + 1]);
    withRevision(reply, entry.revision).header(GROUP_HEADER, entry.group).header('etag', entry.etag);
    if (isNotModified(request, entry.etag)) return sendNotModified(request, reply);
    return reply.type(JSON_TYPE).send(entry.body);
  };
  infoRoute(app, handler, plainTextErrorHandler(api.now));
}

/** Has the fleet hear a poll; returns the headers that its reply gets. */
export function hear(
  { fleet }: Api,
  { method, headers, user }: FastifyRequest,
  { group, etag }: Pick<InfoEntry, 'group' | 'etag'>,
  device = user.device,
): readonly string[] {
  if (method !== 'GET') return [];
  const instance = headers[INSTANCE_HEADER]?.toString();
  const ifNoneMatch = headers['if-none-match'];
  return fleet.onPoll({ device, access: 'shared', group, ifNoneMatch, instance, etag });
}

/**
 * Resolves to the reply for a group. Devices stop all their containers if their group does not exist, so this rejects as
 * `absent` only if that is certain, and otherwise as `unavailable`:
 *
 * - while the store fails and there is no last good reply;
 * - if the group has a file but has never been applied, as after the loss of a store while one of its apps is invalid;
 * - until a revision is applied. Elsewhere a branch without commits is an empty fleet, but a branch that was deleted while
 *   the store was lost looks the same.
 */
export async function readInfo({ info, reconciler }: Api, name: string): Promise<InfoEntry> {
  const entry = await info.read(name).catch((error: unknown) => {
    throw new HoldfastError('unavailable', 'the manager cannot read its store; try again', {}, error);
  });
  if (entry !== null) return entry;
  if (reconciler.passes.desired.pathsOf('device_group', name).length > 0)
    throw new HoldfastError('unavailable', 'the group is not applied; see its problems');
  if (reconciler.status().applied === null)
    throw new HoldfastError('unavailable', 'nothing has been applied yet; try again');
  throw absentError('device_group', name);
}
