import type { App } from '../protocol/app.ts';
import type { DeviceGroup } from '../protocol/device-group.ts';
import type { Kind } from '../protocol/name.ts';

/** The fields of an object with defaults filled in, as devices get them, but without name and ids: by its kind. */
export interface ContentOfKind {
  app: App;
  device_group: DeviceGroup;
}

/** The content of an object of any kind. */
export type Content = ContentOfKind[Kind];

/** Returns the names of the apps that a group lists, in its order; none for an app. */
export function membersOf(content: Content | null | undefined): readonly string[] {
  return content != null && 'apps' in content ? content.apps : [];
}
