import type { DeviceState } from '../protocol/device.ts';
import type { DeviceSlot, Word } from '../store/devices/slot.ts';
import type { Served, ServedGroup } from '../store/served.ts';

/** By what a device is judged. Times are Unix milliseconds, spans milliseconds. */
export interface Standard {
  served: Served;
  now: number;
  /** A device that was not heard for so long is silent. */
  silentAfter: number;
  /** When this manager began to listen, and when a manager listened last before that; null if none did. */
  listening: { since: number; before: number | null };
}

/** A device that was seen, with its state. */
export interface JudgedDevice {
  slot: Readonly<DeviceSlot>;
  group: string | null;
  state: DeviceState;
  /** Since when; null if that takes a look at the history (`behind`) or is not known. */
  since: number | null;
  /** The order that the device has reached; null if that is not known. */
  order: number | null;
}

/** Judges a device that was seen: its state is the first one that holds. */
export function judge(slot: Readonly<DeviceSlot>, standard: Standard): JudgedDevice {
  const { served } = standard;
  const group = groupOf(slot);
  const word = wordOf(slot, standard);
  const wanted = group === null ? undefined : served.groups.get(group);
  const order = wanted === undefined ? null : orderOf(word.word, wanted, served);
  const device: JudgedDevice = { slot, group, state: 'unknown', since: word.since, order };
  if (isSilent(slot, standard)) {
    device.state = 'silent';
    device.since = heardAt(slot) + standard.silentAfter;
  } else if (slot.report?.failedSince != null) {
    device.state = 'failed';
    device.since = slot.report.failedSince;
  } else if (order !== null && wanted !== undefined) {
    const isCurrent = order >= wanted.order;
    device.state = isCurrent ? 'current' : 'behind';
    if (!isCurrent) device.since = null;
  }
  return device;
}

/** When a device was heard last. */
export function heardAt({ poll, report }: DeviceSlot): number {
  return Math.max(poll?.at ?? 0, report?.at ?? 0);
}

/** The group that a device is in: the one that it polled last, else the one that it reported. */
export function groupOf({ poll, report }: DeviceSlot): string | null {
  return poll?.group ?? report?.group ?? null;
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
function orderOf(word: Word | null, { order }: ServedGroup, { fleet }: Served): number | null {
  if (word === null || !fleet.startsWith(word.fleet) || word.order > order) return null;
  return word.order;
}

/** What was silent before a pause of the manager stays so; nobody else becomes so before they had the time to poll again. */
function isSilent(slot: DeviceSlot, { now, silentAfter, listening }: Standard): boolean {
  const at = heardAt(slot);
  if (now - at <= silentAfter) return false;
  if (now - listening.since > silentAfter) return true;
  return listening.before !== null && listening.before - at > silentAfter;
}

/** What a device lacks that has reached this order in its group: keys of objects, and `prune/NAME` for a prune. */
export function missingOf(name: string, order: number, { groups, apps }: Served): string[] {
  const group = groups.get(name);
  if (group === undefined || order >= group.order) return [];
  return [
    ...(group.changed > order ? [`device_group/${name}`] : []),
    ...(group.pruned > order ? [`prune/${name}`] : []),
    ...group.apps.filter((app) => (apps.get(app)?.changed ?? 0) > order).map((app) => `app/${app}`),
  ];
}
