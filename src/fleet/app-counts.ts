import type { DeviceState } from '../protocol/device.ts';
import { everyDevice, judge, type Known } from './state.ts';

/** How the devices whose group lists an app have it. */
export interface AppCounts {
  groups: number;
  devices: number;
  /** Those that have its last change by their own word, and that are neither failed nor silent. */
  current: number;
  /** Those that have not made its last change yet. */
  behind: number;
  failed: number;
  silent: number;
}

/** What is known of the devices of one group. */
interface GroupSums {
  devices: number;
  silent: number;
  /** On which something fails that concerns every app. */
  disabled: number;
  failed: Map<string, number>;
  /** What the devices have reached that are current or behind, in ascending order. */
  orders: number[];
}

/** Returns a function that counts the devices of any app; what it counts are the devices of this moment. */
export function countingApps(known: Known): (app: string) => AppCounts {
  const { served } = known.standard;
  const sums = sumsOf(known);
  const listing = groupsByApp(served.groups);
  return (app) => {
    const changed = served.apps.get(app)?.changed ?? 0;
    const counts = { groups: 0, devices: 0, current: 0, behind: 0, failed: 0, silent: 0 };
    for (const group of listing.get(app) ?? []) addGroup(counts, app, changed, sums.get(group));
    return counts;
  };
}

function sumsOf(known: Known): Map<string, GroupSums> {
  const sums = new Map<string, GroupSums>();
  for (const slot of everyDevice(known)) {
    const { group, state, order } = judge(slot, known.standard);
    if (group === null) continue;
    const sum: GroupSums = sums.get(group) ?? {
      devices: 0,
      silent: 0,
      disabled: 0,
      failed: new Map(),
      orders: [],
    };
    sums.set(group, sum);
    addDevice(sum, state, order, slot.report?.failed ?? []);
  }
  for (const { orders } of sums.values()) orders.sort((a, b) => a - b);
  return sums;
}

function addDevice(
  sum: GroupSums,
  state: DeviceState,
  order: number | null,
  failed: readonly { app: string | null }[],
): void {
  sum.devices += 1;
  if (state === 'silent') sum.silent += 1;
  if (state === 'failed') addFailures(sum, failed);
  if (order !== null && (state === 'current' || state === 'behind')) sum.orders.push(order);
}

function addFailures(sum: GroupSums, failed: readonly { app: string | null }[]): void {
  if (failed.some(({ app }) => app === null)) sum.disabled += 1;
  else
    for (const app of new Set(failed.map((each) => each.app ?? '')))
      sum.failed.set(app, (sum.failed.get(app) ?? 0) + 1);
}

function addGroup(counts: AppCounts, app: string, changed: number, sum: GroupSums | undefined): void {
  counts.groups += 1;
  if (sum === undefined) return;
  const behind = countBelow(sum.orders, changed);
  counts.devices += sum.devices;
  counts.silent += sum.silent;
  counts.failed += sum.disabled + (sum.failed.get(app) ?? 0);
  counts.behind += behind;
  counts.current += sum.orders.length - behind;
}

/** How many of these sorted numbers are below a limit. */
function countBelow(sorted: readonly number[], limit: number): number {
  let [low, high] = [0, sorted.length];
  while (low < high) {
    const middle = (low + high) >> 1;
    if ((sorted[middle] ?? 0) < limit) low = middle + 1;
    else high = middle;
  }
  return low;
}

function groupsByApp(groups: Known['standard']['served']['groups']): Map<string, string[]> {
  const listing = new Map<string, string[]>();
  for (const [group, { apps }] of groups) {
    for (const app of apps) {
      const known = listing.get(app);
      if (known === undefined) listing.set(app, [group]);
      else known.push(group);
    }
  }
  return listing;
}
