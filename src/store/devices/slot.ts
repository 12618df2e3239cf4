/** How a device showed who it is: by a credential of its own, or by its name beside the account that all devices share. */
export type DeviceAccess = 'own' | 'shared';

/** What a manager remembers of a device. Each half is replaced as a whole by one that was heard later. Times are Unix milliseconds. */
export interface DeviceSlot {
  name: string;
  /** Null for a device that only reports. */
  poll: PolledHalf | null;
  /** Null for a device that only polls. */
  report: ReportedHalf | null;
}

/** What a device says that it has: the order in an ETag of `/info` whose work is done, and the start of the fleet id in it. */
export interface Word {
  fleet: string;
  order: number;
}

/** What the polls of a device say. */
export interface PolledHalf {
  /** When it polled last. */
  at: number;
  group: string;
  access: DeviceAccess | null;
  /** Null if it has said nothing that counts. */
  word: Word | null;
  /** Since when it says this word in this group. */
  since: number;
  /** A tag that it brought from another group, and that says nothing about this one. */
  foreignTag: string | null;
  /** When its word fell behind an earlier one, last. */
  fellAt: number | null;
  /** Since when two machines of this name have been seen, and when last; null if they never were. */
  conflict: { since: number; at: number } | null;
  /** The random number of the worker that holds the name, and since when; null if it sends none. */
  instance: { id: string; since: number } | null;
  /** The longest of its last pauses between two polls, in milliseconds. */
  interval: number;
}

/** What the latest report of a device says. */
export interface ReportedHalf {
  /** When it arrived. */
  at: number;
  group: string;
  word: Word | null;
  /** Since when its reports have said this word. */
  since: number;
  /** What is wrong on it; the first of many. */
  failed: FailedApp[];
  /** Since when something is wrong on it; null if nothing is. */
  failedSince: number | null;
  /** The version of its worker. */
  worker: string | null;
  /** Changes with the state of an app, the ids or the problems that it reports. */
  digest: string;
}

/** An app that fails on a device; `app` is null for what concerns all of it. */
export interface FailedApp {
  app: string | null;
  error: string;
}

/** Joins what two managers know of a device: of each half, the one that was heard later. */
export function joinSlots(one: DeviceSlot, other: DeviceSlot): DeviceSlot {
  return {
    name: one.name,
    poll: joinPolls(one.poll, other.poll),
    report: (one.report?.at ?? -1) >= (other.report?.at ?? -1) ? one.report : other.report,
  };
}

/** Returns a slot whose times are so many milliseconds earlier. */
export function earlier({ name, poll, report }: DeviceSlot, by: number): DeviceSlot {
  return {
    name,
    poll: poll && { ...poll, at: poll.at - by, since: poll.since - by, fellAt: null, conflict: null },
    report: report && { ...report, at: report.at - by, since: report.since - by },
  };
}

/** How close to each other two workers of one name polled if both run, in milliseconds. */
const AT_ONCE = 90_000;

/** Of two workers of one name that polled different managers, the one that came first keeps the name. */
function joinPolls(one: PolledHalf | null, other: PolledHalf | null): PolledHalf | null {
  if (one === null || other === null) return one ?? other;
  const [older, newer] = one.at <= other.at ? [one, other] : [other, one];
  const isContested =
    older.instance !== null &&
    newer.instance !== null &&
    older.instance.id !== newer.instance.id &&
    newer.at - older.at < AT_ONCE;
  const conflict = laterOf(older.conflict, newer.conflict);
  if (!isContested || (older.instance?.since ?? 0) > (newer.instance?.since ?? 0))
    return { ...newer, conflict };
  return { ...older, conflict: { since: conflict?.since ?? newer.at, at: newer.at } };
}

function laterOf(one: PolledHalf['conflict'], other: PolledHalf['conflict']): PolledHalf['conflict'] {
  return (one?.at ?? 0) > (other?.at ?? 0) ? one : other;
}
