import { ASKS_HEADER, CONFLICT_HEADER } from '../protocol/poll.ts';
import type { Report } from '../protocol/report.ts';
import type { DeviceStore } from '../store/devices/port.ts';
import { type DeviceSlot, earlier, joinSlots, type PolledHalf } from '../store/devices/slot.ts';
import type { Served } from '../store/served.ts';
import type { Asks } from './asks.ts';
import { hearPoll, hearReport, isSameWord, type Poll, pauseOf } from './hear.ts';
import { factsOf } from './report-facts.ts';
import { Saving } from './saving.ts';
import { heardAt, type Known } from './state.ts';

/** The devices of this manager: what they say when they poll and report. */
export interface Fleet {
  /**
   * Hears a poll; without a device, it is counted for its group alone. Returns headers for the reply, as names and values in
   * turn; none for a usual poll. Of more than `mostDevices` names, those that were heard longest ago are forgotten, since
   * whoever may poll can invent names.
   */
  onPoll(poll: Poll): readonly string[];
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

/** What the fleet depends on. */
export interface FleetDependencies {
  store: DeviceStore;
  asks: Pick<Asks, 'countFor'>;
  /** Milliseconds: without a word for so long, a device is silent; and gone. */
  silentAfter: number;
  goneAfter: number;
  /** Which reports of workers that say their version are kept: all, those that say something new, or none. */
  keeps: 'all' | 'changes' | 'latest';
  /** The most names that are kept of devices without a file. */
  mostDevices: number;
  /** Unix milliseconds. */
  now(): number;
  /** Milliseconds on a clock that is never set. */
  elapsed(): number;
  /** Called when devices cannot be read or written, and when they can be again. */
  onFailure(error: unknown): void;
  onRecovered(): void;
}

/** Names are forgotten in portions: to find the oldest entry of a map, V8 passes all that were deleted before it. */
const PORTION = 0.01;
/** How many characters a worker sends at most of tags, and of its number. */
const LONGEST_TAGS = 300;
const INSTANCE_LENGTH = 8;
/** Milliseconds: by more than this, the clock was set, or the machine slept. */
const JUMP = 5000;
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
  #since: number;
  /** Of the clock of the day from the one that is never set, in milliseconds. */
  #offset: number;
  #heardBefore: number | null = null;
  #served: Promise<Served> | null = null;
  /** The devices that had a file when that was read last. */
  #declared: Served['devices'] = new Map();

  constructor(dependencies: FleetDependencies) {
    this.#dependencies = dependencies;
    this.#isShared = dependencies.store.keptSince !== null;
    this.#since = dependencies.now();
    this.#offset = this.#since - dependencies.elapsed();
    this.#saving = new Saving({
      ...dependencies,
      take: (slot) => this.#take(slot),
      slots: this.#slots,
      forget: (name) => void this.#slots.delete(name),
      onLoaded: (heardBefore) => this.#loaded(heardBefore),
      onTurn: () => this.#checkClock(),
    });
  }

  onPoll(poll: Poll): readonly string[] {
    const { device } = poll;
    if (device === undefined) {
      this.#anonymous.set(poll.group, (this.#anonymous.get(poll.group) ?? 0) + 1);
      return NO_HEADERS;
    }
    const slot = this.#slots.get(device);
    if (slot === undefined || !saysTheSame(slot, poll))
      return this.#hear(slot ?? this.#newSlot(device), shortened(poll));
    const at = this.#dependencies.now();
    slot.poll.interval = pauseOf(slot.poll, at);
    slot.poll.at = at;
    this.#touch(slot);
    return this.#asksFor(device);
  }

  onReport(report: Report): boolean {
    const { keeps, now } = this.#dependencies;
    const facts = factsOf(report);
    if (facts === null) return true;
    const { hostname } = report;
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
    this.#checkClock();
    const { now, silentAfter, goneAfter, mostDevices } = this.#dependencies;
    const listening = { since: this.#since, before: this.#heardBefore };
    const standard = { served: await this.#readServed(), now: now(), silentAfter, listening };
    this.#forgetOldest(this.#slots.size - mostDevices - this.#declared.size);
    this.#forget(firstWhile(this.#slots.values(), (slot) => standard.now - heardAt(slot) > goneAfter));
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
    const hearing = { now: this.#dependencies.now(), since: this.#since, isShared: this.#isShared };
    const { half, conflict } = hearPoll(known, poll, hearing);
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
    const { mostDevices } = this.#dependencies;
    if (this.#slots.size >= mostDevices + this.#declared.size)
      this.#forgetOldest(Math.ceil(mostDevices * PORTION));
    return liveOf({ name, poll: null, report: null });
  }

  #forgetOldest(count: number): void {
    if (count <= 0) return;
    let rest = count;
    this.#forget(firstWhile(this.#slots.values(), ({ name }) => this.#declared.has(name) || rest-- > 0));
  }

  /** Forgets those of these that have no file. */
  #forget(slots: readonly Live[]): void {
    const names = slots.map(({ name }) => name).filter((name) => !this.#declared.has(name));
    for (const name of names) this.#slots.delete(name);
    this.#saving.drop(names);
  }

  /** Moves the slot behind all others. */
  #touch(slot: Live): void {
    this.#slots.delete(slot.name);
    this.#slots.set(slot.name, slot);
  }

  /** Takes a slot that the store has. */
  #take(slot: DeviceSlot): void {
    const known = this.#slots.get(slot.name);
    const live = known ?? liveOf(slot);
    const heard = known === undefined ? 0 : heardAt(known);
    // The next poll is compared with what another manager heard.
    if (known !== undefined)
      Object.assign(known, joinSlots(known, slot), { ifNoneMatch: undefined, instance: undefined });
    if (heardAt(live) > heard) this.#touch(live);
  }

  /** Puts what was loaded in order. */
  #loaded(heardBefore: number | null): void {
    const now = this.#dependencies.now();
    const ahead = (heardBefore ?? 0) - now;
    if (ahead > JUMP) this.#shift(ahead);
    this.#heardBefore = heardBefore === null ? null : Math.min(heardBefore, now);
    const slots = [...this.#slots.values()].sort((one, other) => heardAt(one) - heardAt(other));
    for (const slot of slots) this.#touch(slot);
  }

  /** A jump of the clock is no time in which somebody was silent: it counts as a pause of the manager. */
  #checkClock(): void {
    const { now, elapsed } = this.#dependencies;
    const at = now();
    const jump = at - elapsed() - this.#offset;
    if (Math.abs(jump) < JUMP) return;
    this.#offset += jump;
    if (jump < 0) this.#shift(-jump);
    this.#since = at;
    this.#heardBefore = at - Math.max(jump, 0);
    this.#saving.clockWasSet();
  }

  /** After the clock was set back, what was heard is as old as before. */
  #shift(back: number): void {
    for (const slot of this.#slots.values()) Object.assign(slot, earlier(slot, back));
  }

  async #readServed(): Promise<Served> {
    const reading = this.#served ?? this.#dependencies.store.served();
    this.#served = reading;
    try {
      const served = await reading;
      this.#declared = served.devices;
      return served;
    } catch (error) {
      // The next call reads again.
      if (this.#served === reading) this.#served = null;
      throw error;
    }
  }
}

/** Written field by field: a spread would give each slot a shape of its own, and make each look at all of them ten times slower. */
function liveOf({ name, poll, report }: DeviceSlot): Live {
  return { name, poll, report, ifNoneMatch: undefined, instance: undefined };
}

/** Headers that are longer than any worker sends are not kept, and count as none. */
function shortened({ ifNoneMatch, instance, ...poll }: Poll): Poll {
  return {
    ...poll,
    ifNoneMatch: (ifNoneMatch?.length ?? 0) > LONGEST_TAGS ? undefined : ifNoneMatch,
    instance: instance?.length === INSTANCE_LENGTH ? instance : undefined,
  };
}

function firstWhile<T>(items: Iterable<T>, holds: (item: T) => boolean): T[] {
  const first: T[] = [];
  for (const item of items) {
    if (!holds(item)) break;
    first.push(item);
  }
  return first;
}

/** Whether a poll says what the last one of the device said. */
function saysTheSame(slot: Live, poll: Poll): slot is Live & { poll: PolledHalf } {
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
