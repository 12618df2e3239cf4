import { APP_FIELDS } from '../protocol/app.ts';
import { DeviceGroup } from '../protocol/device-group.ts';
import type { Kind } from '../protocol/name.ts';

/** The names of the fields that users write, by kind, in the order in which they are shown. */
export const FIELDS: Readonly<Record<Kind, readonly string[]>> = {
  app: APP_FIELDS,
  device_group: Object.keys(DeviceGroup.shape),
};

/**
 * The other names in a record of the API (docs/contract.md, 2.1 and 2.2): the object's name, and the ids that the manager assigns.
 * In a body they are allowed and ignored; in a file they are errors.
 */
export const ASSIGNED_FIELDS: Readonly<Record<Kind, readonly string[]>> = {
  app: ['app_name', 'app_id', '_id'],
  device_group: ['device_group', 'device_group_id', 'prune_id', '_id'],
};
