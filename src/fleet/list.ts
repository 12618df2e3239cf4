import type { DeviceRow, DeviceState } from '../protocol/device.ts';
import type { DeviceAccess, DeviceSlot } from '../store/devices/slot.ts';
import type { Known } from './fleet.ts';
import { isInConflict } from './hear.ts';
import type { Lag, Lags } from './lags.ts';
import { groupOf, heardAt, type Judgement, judge, missingOf } from './state.ts';

/** Selects devices that have all of these properties. */
export interface DeviceQuery {
  group?: string | undefined;
  state?: DeviceState | undefined;
  /** Whose group lists this app; with `behind` and `failed`, those that lack it or on which it fails. */
  app?: string | undefined;
  access?: DeviceAccess | undefined;
  worker?: string | undefined;
  /** A part of the name, in any case. */
  text?: string | undefined;
}

export const DEVICE_SORTS = ['name', 'since', 'last_seen'] as const;
type DeviceSort = (typeof DEVICE_SORTS)[number];

/** The order of a list, and the place in it after which a page begins. */
export interface DevicePlace {
  sort: DeviceSort;
  after: Place | null;
}

/** The value by which a row is sorted (0 by name), and its name. */
export interface Place {
  value: number;
  name: string;
}

/** A device with its state. */
export interface JudgedDevice extends Judgement {
  slot: Readonly<DeviceSlot>;
  group: string | null;
}

/** How many missing objects a row of a list has. */
const MOST_MISSING = 20;

/** Returns the devices that match, in no particular order. */
export function findDevices(query: DeviceQuery, { slots, standard }: Known): JudgedDevice[] {
  const matches = matcherOf(query);
  const found: JudgedDevice[] = [];
  for (const slot of slots.values()) {
    const group = groupOf(slot);
    if (!matches(slot, group)) continue;
    const device = { slot, group, ...judge(slot, group, standard) };
    if (query.state !== undefined && device.state !== query.state) continue;
    if (query.app === undefined || concerns(query.app, device, query.state, standard)) found.push(device);
  }
  return found;
}

/** What a query asks of a slot itself. */
function matcherOf(query: DeviceQuery): (slot: Readonly<DeviceSlot>, group: string | null) => boolean {
  const text = query.text?.toLowerCase();
  const { access, worker } = query;
  return ({ name, poll, report }, group) =>
    (query.group === undefined || group === query.group) &&
    (text === undefined || name.toLowerCase().includes(text)) &&
    (access === undefined || poll?.access === access) &&
    (worker === undefined || report?.worker === worker);
}

function concerns(
  app: string,
  { slot, group, order }: JudgedDevice,
  state: DeviceState | undefined,
  { served }: Known['standard'],
): boolean {
  const apps = (group === null ? undefined : served.groups.get(group))?.apps ?? [];
  if (!apps.includes(app)) return false;
  if (state === 'failed')
    return slot.report?.failed.some((each) => each.app === app || each.app === null) ?? false;
  return state !== 'behind' || (served.apps.get(app)?.changed ?? 0) > (order ?? 0);
}

/** Resolves to a page of these devices, and where the next one begins; null if it is the last. */
export async function pageOf(
  found: readonly JudgedDevice[],
  { sort, after }: DevicePlace,
  limit: number,
  known: Known,
  lags: Lags,
): Promise<{ rows: DeviceRow[]; next: Place | null }> {
  const devices = sort === 'since' ? await withLags(found, known, lags) : found;
  const sortedBy = VALUES[sort];
  const placed = devices.map((device) => ({ device, value: sortedBy(device), name: device.slot.name }));
  const page = firstOf(
    after === null ? placed : placed.filter((each) => comparePlaces(each, after) > 0),
    limit + 1,
  );
  const shown = page.slice(0, limit);
  const last = shown.at(-1);
  return {
    rows: await Promise.all(shown.map(({ device }) => rowOf(device, known, lags))),
    next: page.length > limit && last !== undefined ? { value: last.value, name: last.name } : null,
  };
}

const VALUES: Readonly<Record<DeviceSort, (device: JudgedDevice) => number>> = {
  name: () => 0,
  since: ({ since }) => since ?? 0,
  last_seen: ({ slot }) => heardAt(slot),
};

function comparePlaces(one: Place, other: Place): number {
  return one.value - other.value || (one.name < other.name ? -1 : Number(one.name > other.name));
}

/** Returns the first `count` in order. Of many, only a part is sorted at a time. */
function firstOf<T extends Place>(items: readonly T[], count: number): T[] {
  const part = Math.max(4 * count, 1000);
  let first: T[] = [];
  for (let at = 0; at < items.length; at += part) {
    first = [...first, ...items.slice(at, at + part)].sort(comparePlaces).slice(0, count);
  }
  return first;
}

/** Gives the devices that are behind the time since when they are. Few groups and orders have many devices. */
async function withLags(
  devices: readonly JudgedDevice[],
  { standard: { served } }: Known,
  lags: Lags,
): Promise<JudgedDevice[]> {
  const found = new Map<string, number | null>();
  const completed: JudgedDevice[] = [];
  for (const device of devices) {
    const { state, group, order } = device;
    if (state !== 'behind' || group === null || order === null) {
      completed.push(device);
      continue;
    }
    const key = `${order} ${group}`;
    if (!found.has(key)) found.set(key, (await lags.of(group, order, served)).since);
    completed.push({ ...device, since: found.get(key) ?? null });
  }
  return completed;
}

/** Resolves to a device as lists show it; with all that it lacks if `isWhole`. */
export async function rowOf(
  device: JudgedDevice,
  { standard: { served, now } }: Known,
  lags: Lags,
  isWhole = false,
): Promise<DeviceRow> {
  const { slot, group, state, order } = device;
  const missing = group === null || order === null ? [] : missingOf(group, order, served);
  const lag: Lag =
    group === null || order === null || missing.length === 0
      ? { since: device.since, revision: served.revision }
      : await lags.of(group, order, served);
  const since = state === 'behind' ? lag.since : device.since;
  return {
    device: slot.name,
    device_group: group,
    declared: false,
    state,
    since: timeOf(since),
    last_seen: timeOf(heardAt(slot)),
    has: order === null ? null : { revision: lag.revision, seq: order },
    missing: isWhole ? missing : missing.slice(0, MOST_MISSING),
    failed: slot.report?.failed ?? [],
    access: slot.poll?.access ?? null,
    conflict: isInConflict(slot.poll?.conflict ?? null, now),
    worker: slot.report?.worker ?? null,
  };
}

function timeOf(at: number | null): string | null {
  return at === null ? null : new Date(at).toISOString();
}
