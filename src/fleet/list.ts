import { Pace } from '../async/pace.ts';
import type { DeviceRow, DeviceState } from '../protocol/device.ts';
import type { DeviceAccess, DeviceSlot } from '../store/devices/slot.ts';
import type { Served } from '../store/served.ts';
import { isInConflict } from './hear.ts';
import type { Lag, Lags } from './lags.ts';
import {
  everyDevice,
  groupOf,
  heardAt,
  type JudgedDevice,
  judge,
  type Known,
  lacksOwn,
  missingOf,
} from './state.ts';

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

/** How many missing objects a row of a list has. */
const MOST_MISSING = 20;
/** How many devices are looked at, and sorted, before other work can run. */
const STEP = 100;
const AT_ONCE = 2000;

/** A page of a list of devices. */
interface DeviceList {
  rows: DeviceRow[];
  /** Where the next page begins; null if this is the last. */
  next: Place | null;
  /** How many devices match. */
  total: number;
}

/** Resolves to the first `limit` devices that match after a place. Lets other work run on the way. */
export async function listDevices(
  query: DeviceQuery,
  { sort, after }: DevicePlace,
  limit: number,
  known: Known,
  lags: Lags,
): Promise<DeviceList> {
  const first = new First(limit + 1, after);
  const times = new LagTimes(known.standard.served, lags);
  const pace = new Pace();
  let total = 0;
  for (const device of matching(query, known)) {
    total += 1;
    if (total % STEP === 0) await pace.step();
    if (sort === 'since' && device.state === 'behind') await times.setSince(device);
    first.add(VALUES[sort](device), device);
  }
  const found = first.all();
  const last = found.length > limit ? found[limit - 1] : undefined;
  const rows: DeviceRow[] = [];
  for (const { device } of found.slice(0, limit)) {
    rows.push(await rowOf(device, known, lags));
    if (rows.length % STEP === 0) await pace.step();
  }
  return { rows, next: last === undefined ? null : { value: last.value, name: last.name }, total };
}

/** Devices that match, in no particular order. */
function* matching(query: DeviceQuery, known: Known): Generator<JudgedDevice> {
  const { standard } = known;
  const matches = matcherOf(query);
  for (const slot of everyDevice(known)) {
    if (!matches(slot, groupOf(slot, standard.served))) continue;
    const device = judge(slot, standard);
    if (query.state !== undefined && device.state !== query.state) continue;
    if (query.app === undefined || concerns(query.app, device, query.state, standard)) yield device;
  }
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

const VALUES: Readonly<Record<DeviceSort, (device: JudgedDevice) => number>> = {
  name: () => 0,
  since: ({ since }) => since ?? 0,
  last_seen: ({ slot }) => heardAt(slot),
};

function comparePlaces(one: Place, other: Place): number {
  return one.value - other.value || (one.name < other.name ? -1 : Number(one.name > other.name));
}

interface Placed extends Place {
  device: JudgedDevice;
}

/** The first `count` devices after a place of all that are added. Most of many are passed over by one comparison. */
class First {
  readonly #count: number;
  readonly #after: Place | null;
  #first: Placed[] = [];
  #rest: Placed[] = [];

  constructor(count: number, after: Place | null) {
    this.#count = count;
    this.#after = after;
  }

  add(value: number, device: JudgedDevice): void {
    const placed = { value, name: device.slot.name, device };
    if (this.#after !== null && comparePlaces(placed, this.#after) <= 0) return;
    const last = this.#first[this.#count - 1];
    if (last !== undefined && comparePlaces(placed, last) > 0) return;
    this.#rest.push(placed);
    if (this.#rest.length === AT_ONCE) this.all();
  }

  /** In order. */
  all(): Placed[] {
    this.#first = [...this.#first, ...this.#rest].sort(comparePlaces).slice(0, this.#count);
    this.#rest = [];
    return this.#first;
  }
}

/** Tells devices that are behind since when. Few groups and orders have many devices. */
class LagTimes {
  readonly #served: Served;
  readonly #lags: Lags;
  readonly #found = new Map<string, number | null>();

  constructor(served: Served, lags: Lags) {
    this.#served = served;
    this.#lags = lags;
  }

  async setSince(device: JudgedDevice): Promise<void> {
    const { group, order, slot } = device;
    if (group === null || order === null) return;
    const key = `${order} ${group} ${lacksOwn(slot.name, order, this.#served) ? slot.name : ''}`;
    const found = this.#found.get(key);
    device.since =
      found === undefined ? (await this.#lags.of(slot.name, group, order, this.#served)).since : found;
    this.#found.set(key, device.since);
  }
}

/** Resolves to a device as lists show it; with all that it lacks if `isWhole`. */
export async function rowOf(
  device: JudgedDevice,
  { standard: { served, now } }: Known,
  lags: Lags,
  isWhole = false,
): Promise<DeviceRow> {
  const { slot, group, state, order } = device;
  const missing = group === null || order === null ? [] : missingOf(slot.name, group, order, served);
  const lag: Lag =
    group === null || order === null || missing.length === 0
      ? { since: device.since, revision: served.revision }
      : await lags.of(slot.name, group, order, served);
  const since = state === 'behind' ? lag.since : device.since;
  return {
    device: slot.name,
    device_group: group,
    declared: device.isDeclared,
    state,
    since: timeOf(since),
    last_seen: timeOf(heardAt(slot) || null),
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
