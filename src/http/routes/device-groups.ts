import type { FastifyRequest } from 'fastify';
import { forEachYielding } from '../../async/pace.ts';
import { unknownApps } from '../../change/refusals.ts';
import { DeviceGroupRecord } from '../../protocol/info.ts';
import type { Api } from '../api.ts';
import { listIn } from '../request/fields.ts';
import { objectRoutes } from './objects.ts';

/** The configuration of device groups (docs/contract.md, 4.3). */
export const deviceGroupRoutes = objectRoutes({
  kind: 'device_group',
  tag: 'device groups',
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
  check: refuseUnknownApps,
});

/** Rejects with the 403 of unknown apps, which is reported before any 400 of the body (docs/contract.md, 5.6). */
async function refuseUnknownApps(request: FastifyRequest, { store, reconciler }: Api): Promise<void> {
  const { desired } = reconciler.passes;
  const notDesired = new Set<string>();
  await forEachYielding(listIn(request, 'apps'), (app) => void (desired.app(app) ?? notDesired.add(app)));
  if (notDesired.size === 0) return;
  // All names are read at once: a body has room for a hundred thousand, and a query for each would take a second.
  const stored = new Set((await store.names('app')).value);
  const unknown = [...notDesired].filter((app) => !stored.has(app));
  if (unknown.length > 0) throw unknownApps(unknown);
}
