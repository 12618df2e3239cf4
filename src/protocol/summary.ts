import * as z from 'zod';
import { DEVICE_STATES } from './device.ts';

/** How the fleet is, on one page: what a console shows first. */
export const Summary = z
  .object({
    version: z.string(),
    fleet: z.string().describe('`FLEET_NAME`.'),
    state: z.enum(['starting', 'applied', 'refused', 'failing']),
    revision_applied: z.string().nullable(),
    applied_at: z.iso.datetime().nullable(),
    subject: z.string().nullable().describe('The first line of the message of that commit.'),
    actor: z.string().nullable().describe('Who made it.'),
    problems: z.int().describe('Problems of files, without warnings.'),
    incidents: z.int().describe('Incidents that last.'),
    apps: z.int(),
    device_groups: z.int(),
    devices: z
      .partialRecord(z.enum(DEVICE_STATES), z.int())
      .describe('Devices by state; empty while none is known.'),
    newest: z
      .object({ commit: z.int().nullable(), operation: z.int().nullable() })
      .meta({ id: 'NewestEntries' })
      .describe('The `n` of the newest entry of a commit, and of an operation.'),
    forge: z
      .object({ commit: z.string(), file: z.string() })
      .meta({ id: 'ForgeAddresses' })
      .nullable()
      .describe('Addresses at the forge, with {revision} and {path}; null where it is not known.'),
  })
  .meta({ id: 'Summary' });
export type Summary = z.infer<typeof Summary>;
