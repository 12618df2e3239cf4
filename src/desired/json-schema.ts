import * as z from 'zod';
import { AppFields, appDefaults } from '../protocol/app.ts';
import { DeviceFields } from '../protocol/device-fields.ts';
import { DeviceGroup } from '../protocol/device-group.ts';

/** The default of the setting `DEFAULT_NETWORKS`, for the hints of editors. */
const USUAL_NETWORKS = ['nebula', 'bridge'];

function schemaText(schema: z.ZodType, title: string, defaults: Readonly<Record<string, unknown>>): string {
  const document = z.toJSONSchema(schema, { target: 'draft-7' }) as { properties: Record<string, object> };
  const properties = Object.fromEntries(
    Object.entries(document.properties).map(([name, property]) => [
      name,
      name in defaults ? { ...property, default: defaults[name] } : property,
    ]),
  );
  return `${JSON.stringify({ ...document, title, properties }, null, 2)}\n`;
}

/** JSON Schemas of the files of a desired state, by file name: for completion and checks in editors. */
export const SCHEMA_FILES: Readonly<Record<string, string>> = {
  'app.schema.json': schemaText(AppFields, 'Holdfast app', { ...appDefaults(USUAL_NETWORKS) }),
  'device-group.schema.json': schemaText(DeviceGroup, 'Holdfast device group', {}),
  'device.schema.json': schemaText(DeviceFields, 'Holdfast device', {}),
};
