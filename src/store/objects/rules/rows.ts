import { forEachYielding } from '../../../async/pace.ts';
import type { ContentOfKind } from '../../../desired/content.ts';
import { DESCRIPTORS } from '../../../desired/kinds.ts';
import { HoldfastError } from '../../../errors.ts';
import type { AppDefaults } from '../../../protocol/app.ts';
import type { Device } from '../../../protocol/device-fields.ts';
import type { DeviceGroup } from '../../../protocol/device-group.ts';
import type { Kind } from '../../../protocol/name.ts';
import type { AppliedRow, FleetObject, FleetState } from '../../fleet.ts';
import type {
  AppliedObject,
  DeviceInfo,
  GroupInfo,
  StoredApp,
  StoredGroup,
  StoredObject,
  StoredOf,
} from '../port.ts';

/** Makes an object of each kind from what is stored of it. */
const STORED: { readonly [K in Kind]: (row: AppliedRow, defaults: AppDefaults) => StoredOf[K] } = {
  app: ({ name, own, stored }, defaults) => ({
    kind: 'app',
    name,
    oid: stored.oid,
    appId: own?.last ?? 0,
    content: contentOf('app', stored.content, defaults),
  }),
  device_group: ({ name, own, prune, stored }, defaults) => ({
    kind: 'device_group',
    name,
    oid: stored.oid,
    deviceGroupId: own?.last ?? 0,
    pruneId: prune?.last ?? 0,
    content: contentOf('device_group', stored.content, defaults),
  }),
  device: ({ name, own, stored }, defaults) => ({
    kind: 'device',
    name,
    oid: stored.oid,
    deviceId: own?.last ?? 0,
    content: contentOf('device', stored.content, defaults),
  }),
};

/** Parses a stored object. Fields that were added to the product after it was stored get their defaults. */
export function storedObject(row: AppliedRow, defaults: AppDefaults): StoredObject {
  return STORED[row.kind](row, defaults);
}

/** Returns the names of the apps that a stored group lists. */
export function appsIn({ stored }: AppliedRow): readonly string[] {
  return (JSON.parse(stored.content) as DeviceGroup).apps;
}

/** Returns the group that a stored device names; null if it names none. */
export function groupIn({ stored }: AppliedRow): string | null {
  return (JSON.parse(stored.content) as Device).device_group ?? null;
}

/** Returns the id sequence of the last change of an object's ids. */
function changedAt({ own, prune }: FleetObject): number {
  return Math.max(own?.changed ?? 0, prune?.changed ?? 0);
}

/** Implements `DeviceReads.deviceInfo`. */
export function deviceInfo(row: AppliedRow, { allChanged }: Pick<FleetState, 'allChanged'>): DeviceInfo {
  const { device_group: group = null, variables } = JSON.parse(row.stored.content) as Device;
  return { group, variables, changed: Math.max(allChanged, changedAt(row)) };
}

/** Parses the content of an object of any kind, as `storedObject` does. */
export function contentOf<K extends Kind>(kind: K, json: string, defaults: AppDefaults): ContentOfKind[K] {
  // The content is of this kind.
  return DESCRIPTORS[kind].complete(JSON.parse(json), defaults) as ContentOfKind[K];
}

/** Makes an applied object without its ids. */
export function appliedObject({ kind, name, stored }: AppliedRow, defaults: AppDefaults): AppliedObject {
  const { content, origin } = stored;
  // The cast is safe because the content is of this kind.
  return { kind, name, origin, content: contentOf(kind, content, defaults) } as AppliedObject;
}

/** A group and its apps, these in any order, and the state of the store; all from one snapshot. */
export interface GroupRows {
  group: AppliedRow;
  apps: readonly AppliedRow[];
  state: Pick<FleetState, 'fleet' | 'applied' | 'allChanged'>;
}

/** Implements `DeviceReads.groupInfo`. Yields to other work. */
export async function groupInfo(rows: GroupRows, defaults: AppDefaults): Promise<GroupInfo> {
  const { fleet, applied, allChanged } = rows.state;
  const group = STORED.device_group(rows.group, defaults);
  const apps = await appsOfGroup(group, rows.apps, defaults);
  let idSequence = Math.max(allChanged, changedAt(rows.group));
  for (const app of rows.apps) idSequence = Math.max(idSequence, changedAt(app));
  return { group, apps, revision: applied?.revision ?? null, fleet, idSequence };
}

/** Rejects as `unavailable` if an app is missing: devices stop the containers of every app that is left out. */
async function appsOfGroup(
  { name: group, content }: StoredGroup,
  rows: readonly AppliedRow[],
  defaults: AppDefaults,
): Promise<StoredApp[]> {
  const byName = new Map(rows.map((row) => [row.name, row]));
  const apps: StoredApp[] = [];
  await forEachYielding(content.apps, (app) => {
    const row = byName.get(app);
    if (row === undefined) {
      const message = `the store has dropped app "${app}" of device group "${group}" as outdated; the next pass applies it again`;
      throw new HoldfastError('unavailable', message);
    }
    apps.push(STORED.app(row, defaults));
  });
  return apps;
}
