import type { App } from '../protocol/app.ts';
import type { Device } from '../protocol/device-fields.ts';
import type { DeviceGroup } from '../protocol/device-group.ts';
import type { Kind } from '../protocol/name.ts';

/** The fields of an object with defaults filled in, as devices get them, but without name and ids: by its kind. */
export interface ContentOfKind {
  app: App;
  device_group: DeviceGroup;
  device: Device;
}

/** The content of an object of any kind. */
export type Content = ContentOfKind[Kind];

/** Returns the names of the apps that a group lists, in its order; none for any other object. */
export function membersOf(content: Content | null | undefined): readonly string[] {
  return content != null && 'apps' in content ? content.apps : [];
}

/** Objects of one kind; none names a device. */
interface Named {
  kind: Exclude<Kind, 'device'>;
  names: readonly string[];
}

const NOTHING: Named = { kind: 'app', names: [] };

/** Returns the objects that must be there for this one: the apps of a group, in its order, and the group of a device. */
export function namedIn(content: Content | null | undefined): Named {
  if (content == null) return NOTHING;
  if ('apps' in content) return { kind: 'app', names: content.apps };
  const group = 'device_group' in content ? content.device_group : undefined;
  return group === undefined ? NOTHING : { kind: 'device_group', names: [group] };
}
