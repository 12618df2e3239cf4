import { NAME_PATTERN } from '../protocol/name.ts';
import { ASKS_HEADER, CONFLICT_HEADER } from '../protocol/poll.ts';
import type { Report } from '../protocol/report.ts';
import type { DeviceStore } from '../store/devices/port.ts';
import { type DeviceSlot, joinSlots, type PolledHalf } from '../store/devices/slot.ts';
import type { Served } from '../store/served.ts';
import type { Asks } from './asks.ts';
import { hearPoll, hearReport, isSameWord, type Poll, pauseOf } from './hear.ts';
import { factsOf } from './report-facts.ts';
import { Saving } from './saving.ts';
import { heardAt, type Standard } from './state.ts';

/** The devices of this manager: what they say when they poll and report. */
export interface Fleet {
  /**
   * Hears a poll; without a device, it is counted for its group alone. Returns headers for the reply, as names and values in
   * turn; none for a usual poll. Of more than `mostDevices` names, those that were heard longest ago are forgotten, since
   * whoever may poll can invent names.
   */
  onPoll(poll: Omit<Poll, 'device'> & { device: string | undefined }): readonly string[];
  /** Hears a report. Returns whether it is kept beside the latest one of its device (`keeps`). */
  onReport(report: Report): boolean;
  /** Says that what devices are served has changed. */
  servedChanged(): void;
  /** Resolves to all that is known, once it is read from the store. */
  known(): Promise<Known>;
  /** Forgets a device. Resolves to whether it was known. */
  forget(name: string): Promise<boolean>;
  /** Resolves to the latest report of a device as JSON; null if it sent none. */
  latestReport(name: string): Promise<string | null>;
  /** How many polls came without the name of a device, by group, since the start of the process. */
  anonymousPolls(): ReadonlyMap<string, number>;
  /** Begins to read and to write what is known. */
  start(): void;
  /** Writes what is not written yet. */
  close(): Promise<void>;
}

/** All that is known of devices at one time. */
export interface Known {
  slots: ReadonlyMap<string, Readonly<DeviceSlot>>;
  standard: Standard;
}

/** What the fleet depends on. */
export interface FleetDependencies {
  store: DeviceStore;
  asks: Pick<Asks, 'countFor'>;
  /** Milliseconds: without a word for so long, a device is silent; and gone. */
  silentAfter: number;
  goneAfter: number;
  /** Which reports of workers that say their version are kept: all, those that say something new, or none. */
  keeps: 'all' | 'changes' | 'latest';
  /** The most names that are kept. */
  mostDevices: number;
  /** Unix milliseconds. */
  now(): number;
  /** Called when devices cannot be read or written, and when they can be again. */
  onFailure(error: unknown): void;
  onRecovered(): void;
}

/** Names are forgotten in portions: to find the oldest entry of a map, V8 passes all that were deleted before it. */
const PORTION = 1000;
const NO_HEADERS: readonly string[] = [];

/** A slot, and the headers of its last poll: an equal poll says nothing new. */
interface Live extends DeviceSlot {
  ifNoneMatch: string | undefined;
  instance: string | undefined;
}

export function createFleet(dependencies: FleetDependencies): Fleet {
  return new HeardFleet(dependencies);
}

class HeardFleet implements Fleet {
  readonly #dependencies: FleetDependencies;
  readonly #saving: Saving;
  /** In the order in which they were heard last, oldest first. */
  readonly #slots = new Map<string, Live>();
  readonly #anonymous = new Map<string, number>();
  readonly #isShared: boolean;
  readonly #since: number;
  #heardBefore: number | null = null;
  #served: Promise<Served> | null = null;

  constructor(dependencies: FleetDependencies) {
    this.#dependencies = dependencies;
    this.#isShared = dependencies.store.keptSince !== null;
    this.#since = dependencies.now();
    this.#saving = new Saving({
      ...dependencies,
      take: (slot) => this.#take(slot),
      slots: this.#slots,
      setHeardBefore: (at) => {
        this.#heardBefore = at;
      },
    });
  }

  onPoll({ device, ...poll }: Omit<Poll, 'device'> & { device: string | undefined }): readonly string[] {
    if (device === undefined) {
      this.#anonymous.set(poll.group, (this.#anonymous.get(poll.group) ?? 0) + 1);
      return NO_HEADERS;
    }
    const slot = this.#slots.get(device);
    if (slot === undefined || !saysTheSame(slot, poll))
      return this.#hear(slot ?? this.#newSlot(device), { device, ...poll });
    const at = this.#dependencies.now();
    slot.poll.interval = pauseOf(slot.poll, at);
    slot.poll.at = at;
    this.#touch(slot);
    return this.#asksFor(device);
  }

  onReport(report: Report): boolean {
    const { keeps, now } = this.#dependencies;
    const facts = factsOf(report);
    const { hostname } = report;
    if (facts.worker === null || !NAME_PATTERN.test(hostname)) return true;
    const slot = this.#slots.get(hostname) ?? this.#newSlot(hostname);
    const known = slot.report;
    slot.report = hearReport(known, facts, now());
    this.#touch(slot);
    this.#saving.put(hostname, JSON.stringify(report));
    return keeps === 'all' || (keeps === 'changes' && known?.digest !== facts.digest);
  }

  servedChanged(): void {
    this.#served = null;
  }

  async known(): Promise<Known> {
    await this.#saving.loaded();
    const { now, silentAfter, goneAfter } = this.#dependencies;
    const listening = { since: this.#since, before: this.#heardBefore };
    const standard = { served: await this.#readServed(), now: now(), silentAfter, listening };
    const gone = [...this.#slots.values()].filter((slot) => standard.now - heardAt(slot) > goneAfter);
    for (const { name } of gone) this.#slots.delete(name);
    this.#saving.drop(gone.map(({ name }) => name));
    return { slots: this.#slots, standard };
  }

  async forget(name: string): Promise<boolean> {
    await this.#saving.loaded();
    const wasKnown = this.#slots.delete(name);
    if (wasKnown) await this.#saving.dropNow(name);
    return wasKnown;
  }

  latestReport(name: string): Promise<string | null> {
    return this.#saving.latestReport(name);
  }

  anonymousPolls(): ReadonlyMap<string, number> {
    return this.#anonymous;
  }

  start(): void {
    this.#saving.start();
  }

  close(): Promise<void> {
    return this.#saving.close();
  }

  #hear(slot: Live, poll: Poll): readonly string[] {
    const known = slot.poll;
    const { half, conflict } = hearPoll(known, poll, this.#dependencies.now(), this.#isShared);
    slot.poll = half;
    // Another poll of the one that is refused is no usual one.
    slot.ifNoneMatch = conflict === null ? poll.ifNoneMatch : undefined;
    slot.instance = poll.instance;
    this.#touch(slot);
    if (isNews(known, half)) this.#saving.put(slot.name);
    return conflict === null ? this.#asksFor(slot.name) : [CONFLICT_HEADER, conflict];
  }

  #asksFor(device: string): readonly string[] {
    const count = this.#dependencies.asks.countFor(device);
    return count === 0 ? NO_HEADERS : [ASKS_HEADER, String(count)];
  }

  #newSlot(name: string): Live {
    if (this.#slots.size >= this.#dependencies.mostDevices) this.#forgetOldest();
    return { name, poll: null, report: null, ifNoneMatch: undefined, instance: undefined };
  }

  #forgetOldest(): void {
    const oldest = [...this.#slots.keys()].slice(0, PORTION);
    for (const name of oldest) this.#slots.delete(name);
    this.#saving.drop(oldest);
  }

  /** Moves the slot behind all others. */
  #touch(slot: Live): void {
    this.#slots.delete(slot.name);
    this.#slots.set(slot.name, slot);
  }

  /** Takes a slot that the store has. */
  #take(slot: DeviceSlot): void {
    const known = this.#slots.get(slot.name);
    if (known !== undefined) Object.assign(known, joinSlots(known, slot));
    else this.#slots.set(slot.name, { ...slot, ifNoneMatch: undefined, instance: undefined });
  }

  async #readServed(): Promise<Served> {
    const reading = this.#served ?? this.#dependencies.store.served();
    this.#served = reading;
    try {
      return await reading;
    } catch (error) {
      // The next call reads again.
      if (this.#served === reading) this.#served = null;
      throw error;
    }
  }
}

/** Whether a poll says what the last one of the device said. */
function saysTheSame(slot: Live, poll: Omit<Poll, 'device'>): slot is Live & { poll: PolledHalf } {
  const known = slot.poll;
  return (
    known !== null &&
    known.word !== null &&
    known.group === poll.group &&
    known.access === poll.access &&
    slot.ifNoneMatch === poll.ifNoneMatch &&
    slot.instance === poll.instance
  );
}

/** Whether more than the time of the last poll is new. */
function isNews(known: PolledHalf | null, half: PolledHalf): boolean {
  return (
    known?.group !== half.group ||
    known.access !== half.access ||
    known.instance?.id !== half.instance?.id ||
    known.conflict?.since !== half.conflict?.since ||
    !isSameWord(known.word, half.word)
  );
}
