import type { CounterKind } from '../ids/id-store.ts';

/** What a group and the devices in it are served, and when that changed last: id sequences of the store. */
interface ServedGroup {
  /** In the order of the group's list. */
  apps: readonly string[];
  /** Of its own id, and of its prune id. */
  changed: number;
  pruned: number;
  /** The highest of any change that its reply to polls shows. */
  order: number;
}

/** What the file of a device says, and when that changed last. */
export interface ServedDevice {
  group: string | null;
  changed: number;
}

/** What devices are served, from one snapshot. */
export interface Served {
  /** `StoreState.fleet`. */
  fleet: string;
  /** The applied revision; null before the first one. */
  revision: string | null;
  groups: ReadonlyMap<string, ServedGroup>;
  /** The group of each device that has a file (null: it names none), and the id sequence at which that changed. */
  devices: ReadonlyMap<string, ServedDevice>;
  /** The id of each app, and the id sequence at which it was given. */
  apps: ReadonlyMap<string, { id: number; changed: number }>;
}

/** The counter of an applied object: its id, and the id sequence at which it was given. */
export interface OrderRow {
  kind: CounterKind;
  name: string;
  id: number;
  changed: number;
}

/** The objects that devices are served, without their counters. */
interface ServedObjects {
  groups: readonly { name: string; apps: readonly string[] }[];
  devices: readonly { name: string; group: string | null }[];
}

/** Puts together what devices are served. `counters` are those of objects that are applied. */
export function servedOf(
  state: Pick<Served, 'fleet' | 'revision'>,
  { groups, devices }: ServedObjects,
  counters: readonly OrderRow[],
): Served {
  const found = {
    app: new Map<string, OrderRow>(),
    device_group: new Map<string, OrderRow>(),
    device: new Map<string, OrderRow>(),
    prune: new Map<string, OrderRow>(),
  };
  for (const row of counters) found[row.kind].set(row.name, row);
  const served = groups.map(({ name, apps }): [string, ServedGroup] => {
    const changed = found.device_group.get(name)?.changed ?? 0;
    const pruned = found.prune.get(name)?.changed ?? 0;
    let order = Math.max(changed, pruned);
    for (const app of apps) order = Math.max(order, found.app.get(app)?.changed ?? 0);
    return [name, { apps, changed, pruned, order }];
  });
  const declared = devices.map(({ name, group }): [string, ServedDevice] => {
    return [name, { group, changed: found.device.get(name)?.changed ?? 0 }];
  });
  return { ...state, groups: new Map(served), devices: new Map(declared), apps: found.app };
}
