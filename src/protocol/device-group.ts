import * as z from 'zod';
import { FreeText } from './text.ts';

/** Names of apps, each once. Their order is kept. */
const Members = z
  .array(FreeText)
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

/** The fields of a device group: in its file, in the body of a create, and as devices get them. */
export const DeviceGroup = z.strictObject({ apps: Members });
export type DeviceGroup = z.infer<typeof DeviceGroup>;

/** Some of the fields of a device group: the body of a partial update. */
export const DeviceGroupChange = DeviceGroup.partial();
export type DeviceGroupChange = z.infer<typeof DeviceGroupChange>;
