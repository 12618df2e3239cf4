import type { App } from '../protocol/app.ts';
import type { DeviceGroup } from '../protocol/device-group.ts';

/** The fields of an object with defaults filled in, as devices get them, but without name and ids. */
export type Content = App | DeviceGroup;

/** Returns the names of the apps that a group lists, in its order; none for an app. */
export function membersOf(content: Content | null | undefined): readonly string[] {
  return content != null && 'apps' in content ? content.apps : [];
}
