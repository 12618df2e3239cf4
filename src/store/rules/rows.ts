import { type App, type AppDefaults, type AppFields, completeApp } from '../../desired/app.ts';
import type { DeviceGroup } from '../../desired/device-group.ts';
import type { StoredApp, StoredGroup } from '../store.ts';

/** An object as stores hold it; apps have no `prune_id`, and show 0. */
export interface ObjectRow {
  name: string;
  oid: string;
  id: number;
  prune_id: number;
  /** JSON. */
  content: string;
  hash: string;
}

/** An app's content; fields that are younger than the row are filled in. */
export function appContent(json: string, defaults: AppDefaults): App {
  return completeApp(JSON.parse(json) as AppFields, defaults);
}

export function groupContent(json: string): DeviceGroup {
  return JSON.parse(json) as DeviceGroup;
}

export function storedApp(row: ObjectRow, defaults: AppDefaults): StoredApp {
  return { name: row.name, oid: row.oid, appId: row.id, content: appContent(row.content, defaults) };
}

export function storedGroup(row: ObjectRow): StoredGroup {
  return {
    name: row.name,
    oid: row.oid,
    deviceGroupId: row.id,
    pruneId: row.prune_id,
    content: groupContent(row.content),
  };
}
