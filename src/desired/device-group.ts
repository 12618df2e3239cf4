import * as z from 'zod';
import { Text } from './text.ts';

/** Names of apps in the order of the file, each once. */
const Members = z
  .array(Text)
  .superRefine((apps, context) => {
    const seen = new Set<string>();
    apps.forEach((app, index) => {
      if (seen.has(app)) {
        context.addIssue({
          code: 'custom',
          path: [index],
          message: `"${app}" is listed twice; keep it once`,
        });
      }
      seen.add(app);
    });
  })
  .meta({ description: 'Names of the apps of the group, each once.', uniqueItems: true });

/** What a device group's file holds, and the body of a create: the whole content of a group. */
export const DeviceGroup = z.strictObject({ apps: Members });
export type DeviceGroup = z.infer<typeof DeviceGroup>;

/** Any of the fields: the body of a partial update. */
export const DeviceGroupChange = DeviceGroup.partial();
