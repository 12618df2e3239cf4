import * as z from 'zod';

/** The most bytes of a report, as JSON, that a manager takes. */
export const MAX_REPORT_BYTES = 65_536;

const TOO_LATE = `must be ${Number.MAX_SAFE_INTEGER} or less`;

/** A report as devices send it. Three fields are checked; all others are kept as sent (docs/contract.md, 2.4). */
export const Report = z.looseObject({
  hostname: z.string().min(1, 'must not be empty'),
  device_group: z.string().min(1, 'must not be empty'),
  report_creation_time: z
    .int({ error: ({ code }) => (code === 'too_big' ? TOO_LATE : 'must be a whole number of seconds') })
    .min(0, 'must be 0 or more')
    .meta({ description: 'Seconds since the Unix epoch.' }),
});
export type Report = z.infer<typeof Report>;

/** What an app is doing on a device. docs/devices.md has a sentence for each. */
export const APP_STATES = [
  'running',
  'stopped',
  'waiting',
  'pulling',
  'updating',
  'checking',
  'failing',
  'rolled_back',
  'kept',
] as const;
export type AppState = (typeof APP_STATES)[number];

/** What can be wrong with an app, or with a device as a whole. docs/devices.md says what to do about each. */
export const TROUBLE_CODES = [
  'pull-failed',
  'pull-unauthorized',
  'image-missing',
  'stale-image',
  'create-failed',
  'start-failed',
  'change-failed',
  'unhealthy',
  'crashed',
  'port-conflict',
  'name-taken',
  'network-missing',
  'disk-pressure',
  'engine-unavailable',
  'manager-unavailable',
  'bad-reply',
  'content-without-id',
  'ids-behind',
  'too-many-containers',
  'not-allowed',
  'invalid-app',
  'unknown-fields',
  'foreign-containers',
  'group-gone',
  'two-workers',
  'state-not-saved',
  'report-cut',
] as const;
export type TroubleCode = (typeof TROUBLE_CODES)[number];

/** Trouble of one app or of the device: what, since when, and when the worker tries again. */
export const Trouble = z
  .object({
    code: z.enum(TROUBLE_CODES),
    text: z.string(),
    since: z.int().meta({ description: 'Seconds since the Unix epoch.' }),
    attempts: z.int().min(0),
    next_try: z.int().nullable().meta({
      description: 'Seconds since the Unix epoch; null if the worker waits for something other than time.',
    }),
    log: z.array(z.string()).optional().meta({ description: 'Last lines that the failed container wrote.' }),
  })
  .meta({ id: 'Trouble' });
export type Trouble = z.infer<typeof Trouble>;

const ReportedApp = z
  .object({
    name: z.string(),
    wanted_id: z.int(),
    running_id: z.int().nullable().meta({ description: 'The app_id that what runs was made for.' }),
    state: z.enum(APP_STATES),
    wanted: z.int().min(0).meta({ description: 'How many containers there should be.' }),
    running: z
      .int()
      .min(0)
      .meta({ description: 'How many containers run, or have ended well where the app lets them.' }),
    image: z.string().nullable().meta({ description: 'The reference of what runs.' }),
    digest: z.string().nullable().meta({ description: 'The digest of what runs, if the registry gave one.' }),
    error: Trouble.nullable(),
  })
  .meta({ id: 'ReportedApp' });
export type ReportedApp = z.infer<typeof ReportedApp>;

const ReportedContainer = z
  .object({
    id: z.string(),
    name: z.string(),
    app: z.string(),
    image: z.string(),
    state: z.string(),
    health: z.string().nullable(),
    restarts: z.int().min(0),
    cpu: z.number().nullable().meta({ description: 'Percent of one core.' }),
    memory: z.number().nullable().meta({ description: 'MiB.' }),
  })
  .meta({ id: 'ReportedContainer' });
export type ReportedContainer = z.infer<typeof ReportedContainer>;

const MiB = z.number().meta({ description: 'MiB.' });
const MemoryUsage = z
  .object({ total: MiB, used: MiB, free: MiB, available: MiB })
  .meta({ id: 'MemoryUsage' });
const DiskUsage = z.object({ total: MiB, used: MiB, free: MiB }).meta({ id: 'DiskUsage' });
const CpuUsage = z.object({ cores: z.int(), used_percent: z.number() }).meta({ id: 'CpuUsage' });

const ReportedWorker = z
  .object({
    version: z.string(),
    started: z.int().meta({ description: 'Seconds since the Unix epoch.' }),
    engine: z.string().nullable().meta({ description: 'Name and version of the container engine.' }),
    api: z.string().nullable().meta({ description: "Version of the engine's API." }),
  })
  .meta({ id: 'ReportedWorker' });

/** The ids that the device acted on last. */
const ReportedIds = z
  .object({
    device_group_id: z.int().nullable(),
    prune_id: z.int().nullable(),
    apps: z.record(z.string(), z.int()),
  })
  .meta({ id: 'ReportedIds' });

/**
 * A report as `holdfast worker` sends it. The manager checks only what `Report` has; the fields of Nebula's workers keep
 * their names, so that what reads their reports reads these.
 */
export const WorkerReport = z
  .object({
    ...Report.shape,
    updated: z.boolean().meta({ description: 'Whether an app has changed since the last report.' }),
    memory_usage: MemoryUsage.nullable(),
    root_disk_usage: DiskUsage.nullable(),
    cpu_usage: CpuUsage,
    apps_containers: z.array(ReportedContainer),
    worker: ReportedWorker,
    applied: z.string().nullable().meta({ description: 'The ETag of /info whose work is done.' }),
    revision: z
      .string()
      .nullable()
      .meta({ description: 'The revision of the last reply that was accepted.' }),
    ids: ReportedIds,
    apps: z.array(ReportedApp),
    problems: z.array(Trouble),
    reports_dropped: z.int().min(0),
    uptime: z
      .int()
      .min(0)
      .meta({ description: 'Seconds since the worker started, by a clock that never jumps.' }),
  })
  .meta({ id: 'WorkerReport' });
export type WorkerReport = z.infer<typeof WorkerReport>;
