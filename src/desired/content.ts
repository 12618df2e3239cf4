import type { App } from './app.ts';
import type { DeviceGroup } from './device-group.ts';

/** What devices get of an object: its fields with defaults filled in, without name and ids. */
export type Content = App | DeviceGroup;

/** Names of the apps that an object lists, in its order. An app lists none. */
export function membersOf(content: Content | null | undefined): readonly string[] {
  return content != null && 'apps' in content ? content.apps : [];
}
