import * as z from 'zod';
import { App } from './app.ts';

/** An `_id`, as MongoDB's clients show it. */
export const ObjectId = z.object({ $oid: z.string().regex(/^[0-9a-f]{24}$/) }).meta({ id: 'ObjectId' });

/** An id that devices compare: they act on an object only when its id has gone up (docs/contract.md, 8). */
const Id = z.int().min(1);

/** An app as the API shows it (docs/contract.md, 2.1). */
export const AppRecord = z
  .object({ app_name: z.string(), ...App.shape, app_id: Id, _id: ObjectId })
  .meta({ id: 'App' });
export type AppRecord = z.infer<typeof AppRecord>;

/** An app as a worker reads it. */
export type ReadApp =
  /** `unknown`: fields that this version does not know, without which it was read: `x`, `healthcheck.x`. */
  { app: AppRecord; unknown: string[]; problem: null } | { app: null; unknown: string[]; problem: string };

/** Reads the record of an app that a manager sent which may be newer. A value that is not understood is a problem. */
export function readAppRecord(record: Readonly<Record<string, unknown>>): ReadApp {
  const unknown = Object.keys(record).filter((field) => !Object.hasOwn(AppRecord.shape, field));
  const first = AppRecord.safeParse(record);
  if (first.success) return { app: first.data, unknown, problem: null };
  const nested = first.error.issues.flatMap((issue) =>
    issue.code === 'unrecognized_keys' ? issue.keys.map((key) => [...issue.path, key]) : [],
  );
  const { success, data, error } = AppRecord.safeParse(withoutPaths(record, nested));
  if (success)
    return { app: data, unknown: [...unknown, ...nested.map((path) => path.join('.'))], problem: null };
  const [issue] = error.issues;
  return { app: null, unknown, problem: `${issue?.path.map(String).join('.')}: ${issue?.message}` };
}

function withoutPaths(record: object, paths: readonly PropertyKey[][]): object {
  const copy = structuredClone(record);
  for (const path of paths) {
    const parent = path.slice(0, -1).reduce<object>((map, key) => map[key as keyof typeof map], copy);
    Reflect.deleteProperty(parent, path.at(-1) ?? '');
  }
  return copy;
}

/** A device group as the API shows it (docs/contract.md, 2.2). */
export const DeviceGroupRecord = z
  .object({
    device_group: z.string(),
    apps: z.array(z.string()),
    device_group_id: Id,
    prune_id: Id,
    _id: ObjectId,
  })
  .meta({ id: 'DeviceGroup' });
export type DeviceGroupRecord = z.infer<typeof DeviceGroupRecord>;

/** A device group with its apps, as devices poll it (docs/contract.md, 2.3). */
export const InfoRecord = z
  .object({ prune_id: Id, apps_list: z.array(z.string()), apps: z.array(AppRecord), device_group_id: Id })
  .meta({ id: 'DeviceGroupInfo' });
export type InfoRecord = z.infer<typeof InfoRecord>;

/** The same, as one device polls it. */
export const DeviceInfoRecord = InfoRecord.extend({
  device: z
    .object({
      name: z.string(),
      device_group: z.string(),
      variables: z.record(z.string(), z.string()),
    })
    .meta({ id: 'PolledDevice' }),
}).meta({ id: 'DeviceInfo' });
