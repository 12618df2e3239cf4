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
