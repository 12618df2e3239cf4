import type { FastifyRequest } from 'fastify';
import { inTurns } from '../../async/pace.ts';
import { unknownApps } from '../../change/refusals.ts';
import { DeviceGroup, DeviceGroupChange } from '../../desired/device-group.ts';
import { GIVEN_FIELDS } from '../../desired/fields.ts';
import type { Api } from '../api.ts';
import { bodyDocs } from '../openapi/documented.ts';
import { DeviceGroupRecord } from '../records.ts';
import { type BodyRule, listIn, readFields } from '../request/fields.ts';
import { objectRoutes } from './objects.ts';

const ignored = GIVEN_FIELDS.device_group;

const whole: BodyRule<DeviceGroup> = { schema: DeviceGroup, ignored, required: ['apps'] };
const partial: BodyRule<DeviceGroupChange> = { schema: DeviceGroupChange, ignored, required: null };

/** Device groups as configuration. */
export const deviceGroupRoutes = objectRoutes({
  kind: 'device_group',
  tag: 'device groups',
  collection: 'device_groups',
  title: 'DeviceGroup',
  summaries: {
    list: 'List the names of all device groups',
    read: 'Read a device group',
    create: 'Create a device group',
    delete: 'Delete a device group',
    replace: 'Replace the list of apps',
    change: 'Change some fields',
  },
  record: DeviceGroupRecord,
  whole: bodyDocs(whole, 'DeviceGroupFields'),
  partial: bodyDocs(partial, 'DeviceGroupChange'),
  names: (store) => store.groupNames(),
  create: async (request, name, api) => {
    await refuseUnknownApps(api, request);
    return { kind: 'device_group', op: 'create', name, fields: readFields(request, whole) };
  },
  replace: async (request, name, api) => {
    await refuseUnknownApps(api, request);
    return { kind: 'device_group', op: 'replace', name, fields: readFields(request, whole) };
  },
  change: async (request, name, api) => {
    await refuseUnknownApps(api, request);
    const { apps = [] } = readFields(request, partial);
    return { kind: 'device_group', op: 'replace', name, fields: { apps } };
  },
});

/** An unknown app is told before anything else that is wrong with the body (decisions, "Everything else"). */
async function refuseUnknownApps({ store, reconciler }: Api, request: FastifyRequest): Promise<void> {
  const { desired } = reconciler.passes;
  const others = new Set<string>();
  await inTurns(listIn(request, 'apps'), (app) => void (desired.app(app) ?? others.add(app)));
  if (others.size === 0) return;
  // All names at once: a body has room for a hundred thousand, and asking for each takes a second.
  const stored = new Set((await store.appNames()).value);
  const unknown = [...others].filter((app) => !stored.has(app));
  if (unknown.length > 0) throw unknownApps(unknown);
}
