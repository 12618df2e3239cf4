import type { AppConvergence, Convergence, DeviceState, GroupCounts } from '../protocol/device.ts';
import { everyDevice, groupOf, judge, type Known } from './state.ts';

/** A version of an app: its id, and the id sequence and revision with which it was given. */
export interface AppVersion {
  id: number;
  idSequence: number;
  revision: string | null;
}

type Counts = Omit<GroupCounts, 'group'>;

/** Counts the devices of each group by their state; they are counted anew at each call, so that no count can drift. */
export function countDevices(known: Known, anonymousPolls: ReadonlyMap<string, number>): Convergence {
  const { standard } = known;
  const groups = new Map<string, Counts>();
  const totals = noDevices();
  for (const name of standard.served.groups.keys()) groups.set(name, noDevices());
  for (const [group, polls] of anonymousPolls) {
    countsOf(group, groups).anonymous_polls = polls;
    totals.anonymous_polls += polls;
  }
  for (const slot of everyDevice(known)) {
    const { group, state } = judge(slot, standard);
    add(totals, state);
    // Who only reports can invent groups, and each would be a label of the metrics.
    const isGroup = slot.poll !== null || groups.has(group ?? '');
    if (group !== null && isGroup) add(countsOf(group, groups), state);
  }
  return { revision: standard.served.revision, groups: sorted(groups), totals };
}

/** Counts the devices of these groups by whether they have reached this order, at which a revision was applied. */
export function countReached(
  order: number,
  names: readonly string[],
  revision: string,
  known: Known,
): Convergence {
  const groups = new Map(names.map((name) => [name, noDevices()]));
  const totals = noDevices();
  for (const slot of everyDevice(known)) {
    const { group, state, order: reached } = judge(slot, known.standard);
    const counts = group === null ? undefined : groups.get(group);
    if (counts === undefined) continue;
    const shown = reachedState(state, reached, order);
    add(totals, shown);
    add(counts, shown);
  }
  return { revision, groups: sorted(groups), totals };
}

function reachedState(state: DeviceState, reached: number | null, order: number): DeviceState {
  return state === 'behind' && (reached ?? 0) >= order ? 'current' : state;
}

/** Counts the devices whose group lists an app by the version of it that they have; `versions` are newest first. */
export function countVersions(app: string, versions: readonly AppVersion[], known: Known): AppConvergence {
  const counts = versions.map(() => 0);
  let older = 0;
  for (const slot of everyDevice(known)) {
    const { group: name, order } = judge(slot, known.standard);
    const group = known.standard.served.groups.get(name ?? '');
    if (order === null || !group?.apps.includes(app)) continue;
    const index = order >= group.order ? 0 : versions.findIndex(({ idSequence }) => idSequence <= order);
    if (counts[index] === undefined) older += 1;
    else counts[index] += 1;
  }
  const ids = versions.flatMap(({ id, revision }, index) => {
    const devices = counts[index] ?? 0;
    return devices > 0 || index === 0 ? [{ app_id: id, revision, devices }] : [];
  });
  return { app, ids: [...ids, ...(older > 0 ? [{ app_id: null, revision: null, devices: older }] : [])] };
}

/** How many devices are in each group. */
export function devicesByGroup(known: Known): Map<string, number> {
  const counts = new Map<string, number>();
  for (const slot of everyDevice(known)) {
    const group = groupOf(slot, known.standard.served);
    if (group !== null) counts.set(group, (counts.get(group) ?? 0) + 1);
  }
  return counts;
}

function noDevices(): Counts {
  return {
    devices: 0,
    current: 0,
    behind: 0,
    failed: 0,
    silent: 0,
    unknown: 0,
    expected: 0,
    anonymous_polls: 0,
  };
}

function countsOf(group: string, groups: Map<string, Counts>): Counts {
  const known = groups.get(group) ?? noDevices();
  groups.set(group, known);
  return known;
}

function add(counts: Counts, state: DeviceState): void {
  if (state === 'gone') return;
  counts.devices += 1;
  counts[state] += 1;
}

function sorted(groups: ReadonlyMap<string, Counts>): GroupCounts[] {
  const rows = Array.from(groups, ([group, counts]) => ({ group, ...counts }));
  return rows.sort((one, other) => (one.group < other.group ? -1 : 1));
}
