import { forEachYielding } from '../../async/pace.ts';
import { completeApp } from '../../desired/app.ts';
import type { Content } from '../../desired/content.ts';
import { DESCRIPTORS } from '../../desired/kinds.ts';
import { HoldfastError } from '../../errors.ts';
import type { FileOrigin } from '../../plan/step.ts';
import type { App, AppDefaults, AppFields } from '../../protocol/app.ts';
import type { DeviceGroup } from '../../protocol/device-group.ts';
import type { Kind } from '../../protocol/name.ts';
import type { AppliedObject, GroupInfo, StoredApp, StoredGroup } from '../store.ts';

/** An object as SQLite and MongoDB hold it. The `prune_id` of apps is 0. */
export interface ObjectRow {
  name: string;
  oid: string;
  id: number;
  prune_id: number;
  /** The id sequence of the last change of its ids. */
  changed: number;
  /** JSON. */
  content: string;
  hash: string;
  /** The file of its content; null if it is not known. */
  path: string | null;
  blob: string | null;
}

/** Parses an app's content. Fields that were added to the product after it was stored get their defaults. */
function appContent(json: string, defaults: AppDefaults): App {
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

/** Parses the content of an object of any kind, as `appContent` does. */
export function contentOf(kind: Kind, json: string, defaults: AppDefaults): Content {
  return DESCRIPTORS[kind].complete(JSON.parse(json), defaults);
}

/** Makes an applied object from its columns; `content` is JSON. */
export function appliedObject(
  kind: Kind,
  name: string,
  content: string,
  origin: FileOrigin | null,
  defaults: AppDefaults,
): AppliedObject {
  // The cast is safe because the content is of this kind.
  return { kind, name, origin, content: contentOf(kind, content, defaults) } as AppliedObject;
}

/** The rows of a group and its apps, these in any order, and the state of the store; all from one snapshot. */
export interface GroupRows extends Pick<GroupInfo, 'fleet' | 'revision'> {
  group: ObjectRow;
  apps: readonly ObjectRow[];
  /** All ids count as changed at this id sequence; 0 if there was no such change. */
  allChanged: number;
}

/** Implements `Store.groupInfo`. Yields to other work. */
export async function groupInfo(rows: GroupRows, defaults: AppDefaults): Promise<GroupInfo> {
  const { fleet, revision, allChanged } = rows;
  const group = storedGroup(rows.group);
  const apps = await appsOfGroup(group, rows.apps, defaults);
  let idSequence = Math.max(allChanged, rows.group.changed);
  for (const { changed } of rows.apps) idSequence = Math.max(idSequence, changed);
  return { group, apps, revision, fleet, idSequence };
}

/** Rejects as `unavailable` if an app is missing: devices stop the containers of every app that is left out. */
async function appsOfGroup(
  { name: group, content }: StoredGroup,
  rows: readonly ObjectRow[],
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
    apps.push(storedApp(row, defaults));
  });
  return apps;
}
