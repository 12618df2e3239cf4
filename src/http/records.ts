import type { DeclaredDevice } from '../protocol/device.ts';
import type { AppRecord, DeviceGroupRecord, InfoRecord } from '../protocol/info.ts';
import type { GroupInfo, StoredApp, StoredDevice, StoredGroup, StoredObject } from '../store/objects/port.ts';

/** Converts a stored object to the form that the API shows. */
export function objectRecord(object: StoredObject): AppRecord | DeviceGroupRecord | DeclaredDevice {
  if (object.kind === 'device') return declaredDevice(object);
  return object.kind === 'app' ? appRecord(object) : deviceGroupRecord(object);
}

/** Returns the members of a device's record that its file has. */
function declaredDevice({ name, content }: StoredDevice): DeclaredDevice {
  return { device: name, device_group: content.device_group ?? null, variables: content.variables };
}

export function appRecord({ name, content, appId, oid }: StoredApp): AppRecord {
  return { app_name: name, ...content, app_id: appId, _id: { $oid: oid } };
}

function deviceGroupRecord(group: StoredGroup): DeviceGroupRecord {
  return {
    device_group: group.name,
    apps: group.content.apps,
    device_group_id: group.deviceGroupId,
    prune_id: group.pruneId,
    _id: { $oid: group.oid },
  };
}

export function infoRecord({ group, apps }: GroupInfo): InfoRecord {
  return {
    prune_id: group.pruneId,
    apps_list: group.content.apps,
    apps: apps.map(appRecord),
    device_group_id: group.deviceGroupId,
  };
}
