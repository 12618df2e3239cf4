import type { FastifyInstance } from 'fastify';
import * as z from 'zod';
import { absentError } from '../../change/refusals.ts';
import { HoldfastError } from '../../errors.ts';
import { DeviceInfoRecord } from '../../protocol/info.ts';
import { Name } from '../../protocol/name.ts';
import { GROUP_HEADER } from '../../protocol/poll.ts';
import type { Api } from '../api.ts';
import { isNotModified, sendNotModified } from '../conditions.ts';
import { plainTextErrorHandler } from '../errors.ts';
import { bodyOfDevice, type DeviceEntry } from '../info/devices.ts';
import { JSON_TYPE } from '../json.ts';
import { json, notModified, plainText, readErrors } from '../openapi/replies.ts';
import { route } from '../openapi/route.ts';
import { deviceNameIn } from '../request/device.ts';
import { withRevision } from '../revision.ts';
import { hear, readInfo } from './info.ts';

export const DEVICE_INFO_ROUTE = '/api/v2/devices/:device_name/info';

const infoRoute = route('GET', DEVICE_INFO_ROUTE, {
  operationId: 'getDeviceInfo',
  action: 'poll',
  summary: 'Everything that a device needs; devices poll this, or the same of their group',
  tag: 'devices',
  params: z.object({ device_name: Name }),
  query: z.object({
    device_group: z.string().optional().describe('The group of a device without one in its file.'),
  }),
  // Until then, its reply must not be JSON.
  needsRevision: false,
  isRoutine: true,
  reply: [200, json('The group with all its apps, and the device.', DeviceInfoRecord)],
  errors: {
    ...readErrors('device'),
    503: plainText(
      'Temporarily unavailable, or the device has no group. Never JSON: workers take JSON without apps as the order to stop all containers.',
    ),
    ...notModified,
  },
});

/** The endpoint that a device polls by its own name. `info-shortcut.ts` answers most of the polls. */
export function deviceInfoRoutes(app: FastifyInstance, api: Api): void {
  infoRoute(
    app,
    async (request, reply) => {
      const name = deviceNameIn(request);
      const { device_group: asked } = request.query;
      const entry = api.deviceInfos.ready(name, asked) ?? (await readEntry(api, name, asked));
      const { base, etag } = entry;
      const more = hear(api, request, { group: base.group, etag }, name);
      for (let index = 0; index < more.length; index += 2) reply.header(more[index] ?? '', more[index + 1]);
      withRevision(reply, base.revision).header(GROUP_HEADER, base.group).header('etag', etag);
      if (isNotModified(request, etag)) return sendNotModified(request, reply);
      return reply.type(JSON_TYPE).send(bodyOfDevice(entry));
    },
    plainTextErrorHandler(api.now),
  );
}

/** Rejects as `absent` only if that is certain, since devices then stop all their containers. */
async function readEntry(api: Api, name: string, asked: string | undefined): Promise<DeviceEntry> {
  const { deviceInfos, reconciler } = api;
  const device = await deviceInfos.read(name).catch((error: unknown) => {
    throw new HoldfastError('unavailable', 'the manager cannot read its store; try again', {}, error);
  });
  const group = device?.group ?? asked;
  if (group === undefined) {
    const hasFile = device !== null || reconciler.passes.desired.pathsOf('device', name).length > 0;
    if (!hasFile && reconciler.status().applied !== null) throw absentError('device', name);
    throw new HoldfastError('unavailable', 'the device has no group: name one in its file');
  }
  const base = await readInfo(api, group).catch((error: unknown) => {
    // The group of a file is there: it goes only after the devices that name it.
    if (device?.group == null || !(error instanceof HoldfastError) || error.kind !== 'absent') throw error;
    throw new HoldfastError('unavailable', 'the group of the device is changing; try again', {}, error);
  });
  return deviceInfos.entry(name, device, base);
}
