import * as z from 'zod';
import { FreeText } from './text.ts';

/** Names of variables of a device; `name` and `group` are those that every device has. */
const VARIABLE_NAME = /^(?!(?:name|group)$)[A-Za-z_][A-Za-z0-9_]{0,127}$/;

const Variables = z
  .record(
    z.string().regex(VARIABLE_NAME, {
      error:
        'is not a valid name of a variable: it has at most 128 letters, digits and underscores, begins with no digit, and is not name or group, which every device has',
    }),
    FreeText,
  )
  .meta({ id: 'DeviceVariables', description: 'Values that its apps can use, by name.' });

const group = FreeText.meta({ description: 'The device group whose apps it runs.' });

/** The fields of a device in its file. */
export const DeviceFields = z.strictObject({
  device_group: group.optional(),
  variables: Variables.optional(),
});

/** The fields of a device in a body, where null is a field that is to be absent. */
export const DeviceBody = z.strictObject({ device_group: group.nullish(), variables: Variables.nullish() });
export type DeviceBody = z.infer<typeof DeviceBody>;

/** A device without what is absent, and with all that has a default. */
export interface Device {
  device_group?: string;
  variables: Readonly<Record<string, string>>;
}

/** Returns a device with these fields. */
export function completeDevice({ device_group: name, variables }: DeviceBody): Device {
  return { ...(name != null && { device_group: name }), variables: variables ?? {} };
}
