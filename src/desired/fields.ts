import { APP_FIELDS } from './app.ts';
import { DeviceGroup } from './device-group.ts';
import type { Kind } from './name.ts';

/** The names of the fields that people write, by kind, in the order in which they are shown. */
export const FIELDS: Readonly<Record<Kind, readonly string[]>> = {
  app: APP_FIELDS,
  device_group: Object.keys(DeviceGroup.shape),
};

/**
 * What a record of the API has beside these (contract, 2.1 and 2.2): the name, and what the manager gives. A body may
 * send it back and it is ignored; a file never has it.
 */
export const GIVEN_FIELDS: Readonly<Record<Kind, readonly string[]>> = {
  app: ['app_name', 'app_id', '_id'],
  device_group: ['device_group', 'device_group_id', 'prune_id', '_id'],
};
