import type * as z from 'zod';
import { APP_FIELDS, AppBody, AppChange, type AppDefaults, AppFields } from '../protocol/app.ts';
import { DeviceRecord } from '../protocol/device.ts';
import { completeDevice, DeviceBody, DeviceFields } from '../protocol/device-fields.ts';
import { DeviceGroup, DeviceGroupChange } from '../protocol/device-group.ts';
import type { Kind } from '../protocol/name.ts';
import { completeApp } from './app.ts';
import type { Content } from './content.ts';

/** What distinguishes the objects of one kind from those of the others. */
interface KindDescriptor {
  /** The kind in sentences; its plural ends in `s`. */
  noun: string;
  /** The noun with its article. */
  one: string;
  /** The folder of the files, below the desired-state folder. */
  folder: string;
  /** Similar names that users give to the folder, in lower case without hyphens and underscores. */
  nearFolder: RegExp;
  /** In the API, the path of the collection and the key of the list of names (docs/contract.md, 4.1). */
  collection: string;
  /** Names of the fields that users write, in the order in which they are shown. */
  fields: readonly string[];
  /** The one field that no object of this kind is without, and that no other kind has; null if all can be left out. */
  required: string | null;
  /** The fields by which a file of this kind is known, if it is in the folder of another one. */
  telling: readonly string[];
  /** What a file needs, with an example. */
  needs: string;
  /**
   * The other names in a record of the API (docs/contract.md, 2.1 and 2.2): the object's name, and the ids that the manager assigns.
   * In a body they are allowed and ignored; in a file they are errors.
   */
  assigned: readonly string[];
  /** The fields in a file, in the body of a create or full update, and in the body of a partial update. */
  schemas: Readonly<Record<'file' | 'body' | 'change', z.ZodObject>>;
  /** The change that a partial update makes. A kind with only one field is replaced. */
  partialOp: 'change' | 'replace';
  /** Returns the content for fields that match the schema of files. Does not change them; the result shares values with them. */
  complete(fields: object, defaults: AppDefaults): Content;
}

/** What a device's record has besides the fields of its file. */
const SEEN_OF_DEVICE = Object.keys(DeviceRecord.shape).filter((name) => !(name in DeviceFields.shape));

export const DESCRIPTORS: Readonly<Record<Kind, KindDescriptor>> = {
  app: {
    noun: 'app',
    one: 'an app',
    folder: 'apps',
    nearFolder: /^(app|apps|applications?)$/,
    collection: 'apps',
    fields: APP_FIELDS,
    required: 'container_image',
    telling: ['container_image'],
    needs: 'at least container_image, such as "container_image: nginx:1.27"',
    assigned: ['app_name', 'app_id', '_id'],
    schemas: { file: AppFields, body: AppBody, change: AppChange },
    partialOp: 'change',
    complete: (fields, defaults) => completeApp(fields as AppFields, defaults),
  },
  device_group: {
    noun: 'device group',
    one: 'a device group',
    folder: 'device-groups',
    nearFolder: /^(device)?groups?$/,
    collection: 'device_groups',
    fields: Object.keys(DeviceGroup.shape),
    required: 'apps',
    telling: ['apps'],
    needs: 'apps, such as "apps: [web]"',
    assigned: ['device_group', 'device_group_id', 'prune_id', '_id'],
    schemas: { file: DeviceGroup, body: DeviceGroup, change: DeviceGroupChange },
    partialOp: 'replace',
    complete: (fields) => fields as DeviceGroup,
  },
  device: {
    noun: 'device',
    one: 'a device',
    folder: 'devices',
    nearFolder: /^(devices?|machines?|hosts?)$/,
    collection: 'devices',
    fields: Object.keys(DeviceFields.shape),
    required: null,
    telling: ['device_group', 'variables'],
    needs: 'fields such as "device_group: stores"',
    assigned: SEEN_OF_DEVICE,
    schemas: { file: DeviceFields, body: DeviceBody, change: DeviceBody },
    partialOp: 'change',
    complete: (fields) => completeDevice(fields),
  },
};
