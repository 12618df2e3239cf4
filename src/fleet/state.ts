import type { DeviceState } from '../protocol/device.ts';
import type { DeviceSlot, Word } from '../store/devices/slot.ts';
import type { Served, ServedDevice } from '../store/served.ts';

/** By what a device is judged. Times are Unix milliseconds, spans milliseconds. */
export interface Standard {
  served: Served;
  now: number;
  /** A device that was not heard for so long is silent. */
  silentAfter: number;
  /** When this manager began to listen, and when a manager listened last before that; null if none did. */
  listening: { since: number; before: number | null };
}

/** All that is known of devices at one time. */
export interface Known {
  slots: ReadonlyMap<string, Readonly<DeviceSlot>>;
  standard: Standard;
}

/** A device with its state. */
export interface JudgedDevice {
  slot: Readonly<DeviceSlot>;
  group: string | null;
  state: DeviceState;
  /** Whether it has a file. */
  isDeclared: boolean;
  /** Since when; null if that takes a look at the history (`behind`) or is not known. */
  since: number | null;
  /** The order that the device has reached; null if that is not known. */
  order: number | null;
}

/** Judges a device: its state is the first one that holds. */
export function judge(slot: Readonly<DeviceSlot>, standard: Standard): JudgedDevice {
  const { served } = standard;
  const declared = served.devices.get(slot.name);
  const group = groupOf(slot, served);
  const word = wordOf(slot, standard);
  const wanted = group === null ? null : wantedOrder(slot.name, group, served);
  const order = wanted === null ? null : orderOf(wordHere(word.word, slot, declared), wanted, served);
  const isDeclared = declared !== undefined;
  const device: JudgedDevice = { slot, group, state: 'unknown', isDeclared, since: word.since, order };
  if (slot.poll === null && slot.report === null) {
    device.state = 'expected';
    device.since = null;
  } else if (isSilent(slot, standard)) {
    device.state = 'silent';
    device.since = heardAt(slot) + standard.silentAfter;
  } else if (slot.report?.failedSince != null) {
    device.state = 'failed';
    device.since = slot.report.failedSince;
  } else if (order !== null && wanted !== null) {
    const isCurrent = order >= wanted;
    device.state = isCurrent ? 'current' : 'behind';
    if (!isCurrent) device.since = null;
  }
  return device;
}

/** Devices that were seen, and those that have a file. The slots are copied, since one that polls moves to the end of them. */
export function* everyDevice({ slots, standard: { served } }: Known): Generator<Readonly<DeviceSlot>> {
  yield* [...slots.values()];
  for (const name of served.devices.keys()) if (!slots.has(name)) yield unseen(name);
}

/** A device that was never seen. */
function unseen(name: string): DeviceSlot {
  return { name, poll: null, report: null };
}

/** Returns a device that was seen, or has a file; null if neither. */
export function deviceOf(name: string, { slots, standard }: Known): JudgedDevice | null {
  const slot = slots.get(name);
  if (slot !== undefined) return judge(slot, standard);
  return standard.served.devices.has(name) ? expectedDevice(name, { standard }) : null;
}

/** Returns a device that was never seen. */
export function expectedDevice(name: string, { standard }: Pick<Known, 'standard'>): JudgedDevice {
  return judge(unseen(name), standard);
}

/** When a device was heard last; 0 if it never was. */
export function heardAt({ poll, report }: DeviceSlot): number {
  return Math.max(poll?.at ?? 0, report?.at ?? 0);
}

/** The group that a device is in: that of its file, else the one that it polled last, else the one that it reported. */
export function groupOf(
  { name, poll, report }: DeviceSlot,
  { devices }: Pick<Served, 'devices'>,
): string | null {
  return devices.get(name)?.group ?? poll?.group ?? report?.group ?? null;
}

/** The order of all that a device of this group should have; null if there is no such group. */
function wantedOrder(device: string, name: string, { groups, devices }: Served): number | null {
  const group = groups.get(name);
  return group === undefined ? null : Math.max(group.order, devices.get(device)?.changed ?? 0);
}

/** What a device says of another group than that of its file does not have the file: its order is below that of the file. */
function wordHere(word: Word | null, slot: DeviceSlot, declared: ServedDevice | undefined): Word | null {
  if (word === null || declared === undefined || declared.group === null) return word;
  const said = slot.poll?.group ?? slot.report?.group;
  return said === declared.group ? word : { ...word, order: Math.min(word.order, declared.changed - 1) };
}

/** While a device polls, its polls say what it has: a report can have waited for long on the device. */
function wordOf(
  { poll, report }: DeviceSlot,
  { silentAfter }: Standard,
): { word: Word | null; since: number } {
  if (poll !== null && (report === null || report.at - poll.at <= silentAfter)) return poll;
  return report ?? { word: null, since: 0 };
}

/** A word of another store says nothing, nor does one that is ahead of the group: it is another group's. */
function orderOf(word: Word | null, wanted: number, { fleet }: Served): number | null {
  if (word === null || !fleet.startsWith(word.fleet) || word.order > wanted) return null;
  return word.order;
}

/** What was silent before a pause of the manager stays so; nobody else becomes so before they had the time to poll again. */
function isSilent(slot: DeviceSlot, { now, silentAfter, listening }: Standard): boolean {
  const at = heardAt(slot);
  if (now - at <= silentAfter) return false;
  if (now - listening.since > silentAfter) return true;
  return listening.before !== null && listening.before - at > silentAfter;
}

/** Whether a device that has reached this order lacks a change of its own file. */
export function lacksOwn(device: string, order: number, { devices }: Served): boolean {
  return (devices.get(device)?.changed ?? 0) > order;
}

/** What a device of a group lacks that has reached this order: keys of objects, and `prune/NAME` for a prune. */
export function missingOf(device: string, name: string, order: number, served: Served): string[] {
  const { groups, apps } = served;
  const group = groups.get(name);
  if (group === undefined) return [];
  const own = lacksOwn(device, order, served) ? [`device/${device}`] : [];
  if (order >= group.order) return own;
  return [
    ...own,
    ...(group.changed > order ? [`device_group/${name}`] : []),
    ...(group.pruned > order ? [`prune/${name}`] : []),
    ...group.apps.filter((app) => (apps.get(app)?.changed ?? 0) > order).map((app) => `app/${app}`),
  ];
}
