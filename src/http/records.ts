import * as z from 'zod';
import { App } from '../desired/app.ts';
import type { GroupInfo, StoredApp, StoredGroup, StoredObject } from '../store/store.ts';

const ObjectId = z.object({ $oid: z.string().regex(/^[0-9a-f]{24}$/) });
const Id = z.int().min(1);

/** An app as the API shows it (contract, 2.1). */
export const AppRecord = z
  .object({ app_name: z.string(), ...App.shape, app_id: Id, _id: ObjectId })
  .meta({ id: 'App' });
type AppRecord = z.infer<typeof AppRecord>;

/** A device group as the API shows it (contract, 2.2). */
export const DeviceGroupRecord = z
  .object({
    device_group: z.string(),
    apps: z.array(z.string()),
    device_group_id: Id,
    prune_id: Id,
    _id: ObjectId,
  })
  .meta({ id: 'DeviceGroup' });
type DeviceGroupRecord = z.infer<typeof DeviceGroupRecord>;

/** A device group with its apps, as devices poll it (contract, 2.3). */
export const InfoRecord = z
  .object({ prune_id: Id, apps_list: z.array(z.string()), apps: z.array(AppRecord), device_group_id: Id })
  .meta({ id: 'DeviceGroupInfo' });

/** Converts a stored object to the form that the API shows. */
export function objectRecord(object: StoredObject): AppRecord | DeviceGroupRecord {
  return 'appId' in object ? appRecord(object) : deviceGroupRecord(object);
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

export function infoRecord({ group, apps }: GroupInfo): z.infer<typeof InfoRecord> {
  return {
    prune_id: group.pruneId,
    apps_list: group.content.apps,
    apps: apps.map(appRecord),
    device_group_id: group.deviceGroupId,
  };
}
