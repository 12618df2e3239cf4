import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify';
import * as z from 'zod';
import { unknownApps } from '../../change/refusals.ts';
import type { DeviceGroupWrite } from '../../change/write.ts';
import { DeviceGroup, DeviceGroupChange } from '../../desired/device-group.ts';
import { Name } from '../../desired/name.ts';
import type { AtRevision, StoredGroup } from '../../store/store.ts';
import {
  type Api,
  createContext,
  found,
  mustExist,
  mustNotExist,
  nameIn,
  send,
  sendObject,
  writeContext,
} from '../api.ts';
import { type BodyRule, listIn, readFields } from '../fields.ts';
import { DeviceGroupRecord, deviceGroupRecord } from '../records.ts';
import {
  commonErrors,
  documented,
  documentedWrites,
  Empty,
  json,
  readErrors,
  unchanged,
  withIgnored,
} from '../replies.ts';

const known = ['apps'];
const ignored = ['device_group', 'device_group_id', 'prune_id', '_id'];

const whole: BodyRule<DeviceGroup> = { schema: DeviceGroup, known, ignored, required: ['apps'] };
const partial: BodyRule<z.infer<typeof DeviceGroupChange>> = {
  schema: DeviceGroupChange,
  known,
  ignored,
  required: null,
};

const wholeBody = withIgnored(DeviceGroup, ignored, { id: 'DeviceGroupFields' });
const partialBody = withIgnored(DeviceGroupChange, ignored, { id: 'DeviceGroupChange', minProperties: 1 });
const GroupNames = z.object({ device_groups: z.array(z.string()) }).meta({ id: 'DeviceGroupNames' });

const tag = 'device groups';
const params = z.object({ device_group_name: Name });
const docs = documentedWrites(tag, 'device_group', params);
const names = documented({
  operationId: 'listDeviceGroups',
  summary: 'List the names of all device groups',
  tag,
  reply: [200, json('The names, in order.', GroupNames)],
  errors: commonErrors,
});

/** Sends a device group as it was read, unless that is known to who reads it. */
export function sendGroup(
  request: FastifyRequest,
  reply: FastifyReply,
  status: number,
  read: AtRevision<StoredGroup>,
): FastifyReply {
  return sendObject(request, reply, status, read, deviceGroupRecord);
}

/** Makes a change of a device group, and sends the group as it is right after. */
async function writeGroup(
  { writer }: Api,
  request: FastifyRequest,
  reply: FastifyReply,
  status: number,
  write: DeviceGroupWrite,
): Promise<FastifyReply> {
  const context = write.op === 'create' ? createContext(request) : writeContext(request);
  const { object } = await writer.write(write, context);
  return sendGroup(request, reply, status, found(object, 'device_group', write.name));
}

/** Device groups (contract, section 4). */
export function deviceGroupRoutes(app: FastifyInstance, api: Api): void {
  const { store } = api;
  const url = '/api/v2/device_groups/:device_group_name';

  app.get('/api/v2/device_groups', names, async (_request, reply) => {
    const { value, revision } = await store.groupNames();
    return send(reply, 200, revision, { device_groups: value });
  });

  const readDocs = documented({
    operationId: 'getDeviceGroup',
    summary: 'Read a device group',
    tag,
    params,
    reply: [200, json('The device group.', DeviceGroupRecord)],
    errors: { ...readErrors('device_group'), ...unchanged },
  });
  app.get(url, readDocs, async (request, reply) => {
    const name = nameIn(request, 'device_group');
    return sendGroup(request, reply, 200, found(await store.group(name), 'device_group', name));
  });

  const createDocs = docs(
    'createDeviceGroup',
    'Create a device group',
    [200, json('The new device group.', DeviceGroupRecord)],
    wholeBody,
  );
  app.post(url, createDocs, async (request, reply) => {
    const name = nameIn(request, 'device_group');
    await mustNotExist(api, 'device_group', name);
    await refuseUnknownApps(api, request);
    const fields = readFields(request, whole);
    return writeGroup(api, request, reply, 200, { kind: 'device_group', op: 'create', name, fields });
  });

  const deleteDocs = docs('deleteDeviceGroup', 'Delete a device group', [
    200,
    json('The device group is deleted.', Empty),
  ]);
  app.delete(url, deleteDocs, async (request, reply) => {
    const name = nameIn(request, 'device_group');
    const write = { kind: 'device_group', op: 'delete', name } as const;
    const { object } = await api.writer.write(write, writeContext(request));
    return send(reply, 200, object.revision, {});
  });

  updateRoutes(app, api, `${url}/update`);
}

function updateRoutes(app: FastifyInstance, api: Api, url: string): void {
  const update = async (request: FastifyRequest, reply: FastifyReply): Promise<FastifyReply> => {
    const name = nameIn(request, 'device_group');
    await mustExist(api, 'device_group', name);
    await refuseUnknownApps(api, request);
    const { apps } = readFields<z.infer<typeof DeviceGroupChange>>(
      request,
      request.method === 'POST' ? whole : partial,
    );
    const fields = { apps: apps ?? [] };
    return writeGroup(api, request, reply, 202, { kind: 'device_group', op: 'replace', name, fields });
  };
  const reply = [202, json('The device group as it is now.', DeviceGroupRecord)] as const;
  app.post(url, docs('replaceDeviceGroup', 'Replace the list of apps', reply, wholeBody), update);
  app.put(url, docs('updateDeviceGroup', 'Change some fields', reply, partialBody), update);
  app.patch(url, docs('patchDeviceGroup', 'Change some fields', reply, partialBody), update);
}

/** An unknown app is told before anything else that is wrong with the body (decisions, "Everything else"). */
async function refuseUnknownApps({ store, reconciler }: Api, request: FastifyRequest): Promise<void> {
  const { desired } = reconciler.passes;
  const others = new Set(listIn(request, 'apps').filter((app) => desired.app(app) === undefined));
  if (others.size === 0) return;
  // All names at once: a body has room for a hundred thousand, and asking for each takes a second.
  const stored = new Set((await store.appNames()).value);
  const unknown = [...others].filter((app) => !stored.has(app));
  if (unknown.length > 0) throw unknownApps(unknown);
}
