import * as z from 'zod';
import { Report } from './report.ts';

/** How a device is: the first of these that holds. docs/devices.md has a sentence for each. */
export const DEVICE_STATES = [
  'expected',
  'gone',
  'silent',
  'failed',
  'unknown',
  'current',
  'behind',
] as const;
export type DeviceState = (typeof DEVICE_STATES)[number];

const DeviceFailure = z
  .object({
    app: z.string().nullable().describe('Null for what concerns the whole device.'),
    error: z.string(),
  })
  .meta({ id: 'DeviceFailure' });

const DeviceVersion = z
  .object({ revision: z.string().nullable(), seq: z.int() })
  .meta({ id: 'DeviceVersion' });

/** What the file of a device says. */
export interface DeclaredDevice {
  device: string;
  device_group: string | null;
  variables: Readonly<Record<string, string>>;
}

const row = {
  device: z.string(),
  device_group: z.string().nullable().describe('That of its file, else the one that it polled last.'),
  declared: z.boolean().describe('Whether it has a file.'),
  state: z.enum(DEVICE_STATES),
  since: z.iso.datetime().nullable().describe('When the state began; null if that is not known.'),
  last_seen: z.iso.datetime().nullable(),
  has: DeviceVersion.nullable().describe('What it has by its own word; null if it has none.'),
  missing: z
    .array(z.string())
    .describe(
      'What it lacks: objects, `device_group/NAME` for the list of its group, `prune/NAME` for a prune.',
    ),
  failed: z.array(DeviceFailure).describe('What its latest report says is wrong, at most 20.'),
  access: z.enum(['own', 'shared']).nullable().describe('Whether it came with a credential of its own.'),
  conflict: z.boolean().describe('Whether two machines use this name.'),
};

/** A device in a list; `missing` has its first 20. */
export const DeviceRow = z
  .object({ ...row, worker: z.string().nullable().describe('The version of its worker.') })
  .meta({ id: 'DeviceRow' });
export type DeviceRow = z.infer<typeof DeviceRow>;

/** A device by itself. */
export const DeviceRecord = z
  .object({
    ...row,
    worker: z.string().nullable(),
    variables: z.record(z.string(), z.string()).describe('Those of its file.'),
    report: Report.meta({ id: 'LatestReport' }).nullable().describe('Its latest report.'),
  })
  .meta({ id: 'DeviceDetail' });
export type DeviceRecord = z.infer<typeof DeviceRecord>;

export const DevicePage = z
  .object({ devices: z.array(DeviceRow), next: z.string().nullable(), total: z.int() })
  .meta({ id: 'DevicePage' });
export type DevicePage = z.infer<typeof DevicePage>;

const counts = {
  devices: z.int().describe('All but those that are gone.'),
  current: z.int(),
  behind: z.int(),
  failed: z.int(),
  silent: z.int(),
  unknown: z.int(),
  expected: z.int(),
  anonymous_polls: z.int().describe('Polls without the name of a device, since this manager started.'),
};

const GroupCounts = z.object({ group: z.string(), ...counts }).meta({ id: 'GroupConvergence' });
export type GroupCounts = z.infer<typeof GroupCounts>;

/** How many devices have what they should have, by group. */
export const Convergence = z
  .object({
    revision: z.string().nullable(),
    groups: z.array(GroupCounts),
    totals: z.object(counts).meta({ id: 'DeviceCounts' }),
  })
  .meta({ id: 'Convergence' });
export type Convergence = z.infer<typeof Convergence>;

const AppVersion = z
  .object({
    app_id: z.int().nullable().describe('Null for devices that have an older one than the history has.'),
    revision: z.string().nullable(),
    devices: z.int(),
  })
  .meta({ id: 'AppVersion' });

/** How many devices have which version of an app. */
export const AppConvergence = z
  .object({
    app: z.string(),
    ids: z.array(AppVersion),
  })
  .meta({ id: 'AppConvergence' });
export type AppConvergence = z.infer<typeof AppConvergence>;
