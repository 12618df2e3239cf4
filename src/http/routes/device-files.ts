import type { FastifyRequest } from 'fastify';
import { absentError } from '../../change/refusals.ts';
import { rowOf } from '../../fleet/list.ts';
import { deviceOf, expectedDevice } from '../../fleet/state.ts';
import { DeviceRecord } from '../../protocol/device.ts';
import { isMapValue } from '../../protocol/values.ts';
import type { StoredDevice } from '../../store/objects/port.ts';
import type { Api } from '../api.ts';
import { bodyOf } from '../request/body.ts';
import { objectWrites } from './objects.ts';

/** Writes to the files of devices (docs/contract.md, 4.7). */
export const deviceFileRoutes = objectWrites({
  kind: 'device',
  tag: 'devices',
  title: 'Device',
  summaries: {
    create: 'Create the file of a device',
    delete: 'Delete the file of a device, which then has the group that its worker is set to',
    replace: 'Replace the group and the variables of a device',
    change: 'Change some fields of a device',
  },
  record: DeviceRecord,
  check: refuseUnknownGroup,
  show: async (object, api) =>
    object.kind === 'device' ? ((await deviceRecord(object.name, object, api)) ?? {}) : {},
});

/** Rejects with the 403 of an unknown group, which is reported before any 400 of the body. */
async function refuseUnknownGroup(request: FastifyRequest, { store, reconciler }: Api): Promise<void> {
  const body = bodyOf(request);
  const group = body.state === 'json' && isMapValue(body.value) ? body.value['device_group'] : undefined;
  if (typeof group !== 'string' || reconciler.passes.desired.group(group) !== undefined) return;
  if ((await store.object('device_group', group)).value === null) throw absentError('device_group', group);
}

/** Resolves to the record of a device, of which `declared` is what its file says; null if nothing is known of it. */
export async function deviceRecord(
  name: string,
  declared: StoredDevice | null,
  { fleet, lags }: Pick<Api, 'fleet' | 'lags'>,
): Promise<DeviceRecord | null> {
  const known = await fleet.known();
  const device = deviceOf(name, known) ?? (declared === null ? null : expectedDevice(name, known));
  if (device === null) return null;
  const row = await rowOf(device, known, lags, true);
  const report = await fleet.latestReport(name);
  return {
    ...row,
    ...(declared !== null && {
      declared: true,
      device_group: declared.content.device_group ?? row.device_group,
    }),
    variables: declared?.content.variables ?? {},
    report: report === null ? null : JSON.parse(report),
  };
}
