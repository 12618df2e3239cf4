import type { FastifyInstance } from 'fastify';
import * as z from 'zod';
import { absentError } from '../../change/refusals.ts';
import { subjectLine } from '../../plan/describe.ts';
import { DeviceGroupRecord } from '../../protocol/info.ts';
import { keyOf } from '../../protocol/name.ts';
import type { Api } from '../api.ts';
import { ifMatchIn } from '../conditions.ts';
import { previewOperation, sendPreview } from '../dry-run.ts';
import { refuseIfNoneMatch, sendObject } from '../one-object.ts';
import { bodyErrors, commonErrors, conditionErrors, json, readErrors } from '../openapi/replies.ts';
import { route } from '../openapi/route.ts';
import { checkExistence } from '../request/checks.ts';
import { operationContext } from '../request/context.ts';
import { nameIn } from '../request/name.ts';
import { WriteOptions } from '../request/write-options.ts';
import { sendAtRevision } from '../revision.ts';

const PruneResult = z.object({ prune_ids: z.record(z.string(), z.int()) }).meta({ id: 'PruneResult' });

const tag = 'device groups';

const allRoute = route('POST', '/api/v2/prune', {
  operationId: 'pruneAll',
  action: 'operate',
  carriesRevision: true,
  needsRevision: true,
  summary: 'Remove unused images on all devices',
  tag,
  reply: [202, json('The new prune_id of each device group.', PruneResult)],
  query: WriteOptions,
  errors: { ...commonErrors, ...conditionErrors, ...bodyErrors },
});

const groupRoute = route('POST', '/api/v2/device_groups/:device_group_name/prune', {
  operationId: 'pruneDeviceGroup',
  action: 'operate',
  summary: 'Remove unused images on the devices of one group',
  tag,
  object: { kind: 'device_group' },
  needsRevision: true,
  query: WriteOptions,
  reply: [202, json('The device group with its higher prune_id.', DeviceGroupRecord)],
  errors: { ...readErrors('device_group'), ...conditionErrors, ...bodyErrors },
});

/** Pruning images (docs/contract.md, 4.4): operations that raise ids and make no commit. */
export function pruneRoutes(app: FastifyInstance, api: Api): void {
  allRoute(app, async (request, reply) => {
    const groups = (await api.store.names('device_group')).value;
    const objects = groups.map((name) => ({ kind: 'device_group', name }) as const);
    const preview = await previewOperation(api, request, {
      subject: 'prune all device groups',
      objects,
      effects: [],
      ifMatch: null,
    });
    if (preview !== null) return sendPreview(reply, preview, api);
    const { value, revision } = await api.store.pruneAll(operationContext(request, api.now()));
    api.events.emit('changed', { keys: Object.keys(value).map((group) => keyOf('device_group', group)) });
    return sendAtRevision(reply, 202, revision, { prune_ids: value });
  });

  groupRoute(app, async (request, reply) => {
    const name = nameIn(request, 'device_group');
    await checkExistence(api, { kind: 'device_group' }, name);
    const key = { kind: 'device_group', name } as const;
    await refuseIfNoneMatch(api, request, key);
    const subject = subjectLine(key, ['prune']);
    const ifMatch = ifMatchIn(request);
    const preview = await previewOperation(api, request, { subject, objects: [key], effects: [], ifMatch });
    if (preview !== null) return sendPreview(reply, preview, api);
    const context = operationContext(request, api.now());
    const pruned = await api.store.pruneGroup(name, context, ifMatch);
    if (pruned === null) throw absentError('device_group', name);
    api.events.emit('changed', { keys: [keyOf('device_group', name)] });
    return sendObject(request, reply, 202, pruned);
  });
}
