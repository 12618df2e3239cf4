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

/** The state of a device, and since when; null if that takes a look at the history (`behind`) or is not known. */
export interface Judgement {
  state: DeviceState;
  since: number | null;
  /** The order that the device has reached; null if that is not known. */
  order: number | null;
}

/** Returns the state of a device that was seen: the first one that holds. */
export function judge(slot: DeviceSlot, group: string | null, standard: Standard): Judgement {
  const { served } = standard;
  const word = wordOf(slot, standard);
  const wanted = group === null ? undefined : served.groups.get(group);
  const order = wanted === undefined ? null : orderOf(word.word, wanted, served);
  const silentSince = heardAt(slot) + standard.silentAfter;
  if (isSilent(slot, standard)) return { state: 'silent', since: silentSince, order };
  if (slot.report?.failedSince != null) return { state: 'failed', since: slot.report.failedSince, order };
  if (order === null || wanted === undefined) return { state: 'unknown', since: word.since, order };
  if (order >= wanted.order) return { state: 'current', since: word.since, order };
  return { state: 'behind', since: null, order };
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
