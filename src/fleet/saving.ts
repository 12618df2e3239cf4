import { closedError } from '../errors.ts';
import type { DeviceStore, KeptSlot } from '../store/devices/port.ts';
import type { DeviceSlot } from '../store/devices/slot.ts';
import { isInConflict } from './hear.ts';
import { heardAt } from './state.ts';

export interface SavingDependencies {
  store: DeviceStore;
  /** All that is known. */
  slots: ReadonlyMap<string, DeviceSlot>;
  silentAfter: number;
  now(): number;
  /** Takes a slot from the store, beside what is known. */
  take(slot: DeviceSlot): void;
  /** Forgets a device that another manager was asked to forget. */
  forget(name: string): void;
  /** Says that all is loaded, and when a manager listened last before this one; null if none did. */
  onLoaded(heardBefore: number | null): void;
  /** Called before each turn. */
  onTurn(): void;
  onFailure(error: unknown): void;
  onRecovered(): void;
}

/** Milliseconds: how often changes are written, what other managers know is read, and all devices are looked through. */
const WRITING = 1000;
const READING = 5000;
const LOOKING = 30_000;
/** How old the time at which a device was heard is in the store at most: there is a write for it. */
const HEARD_WRITTEN = 300_000;
/** What managers wrote in this time before the last look is read again, for their clocks differ. */
const CLOCKS_DIFFER = 60_000;
/** The most slots of one write. */
const AT_ONCE = 2000;

/** Slots to write, and with them the latest reports (JSON) that are new. */
type Changes = Map<string, string | undefined>;

/** Brings what is known of devices into the store, and what other managers know out of it. */
export class Saving {
  readonly #dependencies: SavingDependencies;
  readonly #changed: Changes = new Map();
  #writing: Changes = new Map();
  #dropped: string[] = [];
  /** When each device was heard last, as the store has it. */
  readonly #written = new Map<string, number>();
  #isLoaded = false;
  #failure: unknown = null;
  #lastRead = 0;
  #lastLook = 0;
  #timer: NodeJS.Timeout | null = null;
  #running: Promise<void> = Promise.resolve();

  constructor(dependencies: SavingDependencies) {
    this.#dependencies = dependencies;
  }

  /**
   * Has a slot written within two seconds, and with it the device's latest report (JSON) if there is a new one. While nothing can
   * be written, few reports are remembered.
   */
  put(name: string, report?: string): void {
    const known = this.#changed.get(name);
    const isKept = this.#failure === null || this.#changed.size < AT_ONCE || known !== undefined;
    this.#changed.set(name, (isKept ? report : undefined) ?? known);
  }

  /** Has these devices forgotten in the store, too. */
  drop(names: readonly string[]): void {
    for (const name of names) this.#changed.delete(name);
    this.#dropped = [...this.#dropped, ...names];
  }

  /** Resolves once the store has forgotten a device. */
  async dropNow(name: string): Promise<void> {
    const { store, now } = this.#dependencies;
    this.#changed.delete(name);
    this.#written.delete(name);
    await this.#running;
    await store.forget(name, now());
  }

  /** Resolves to the latest report of a device as JSON; null if it sent none. */
  async latestReport(name: string): Promise<string | null> {
    return this.#changed.get(name) ?? this.#writing.get(name) ?? this.#dependencies.store.latestReport(name);
  }

  /** Resolves once all that the store knew is read; rejects if that has failed, and is tried again. */
  async loaded(): Promise<void> {
    if (this.#isLoaded) return;
    await this.#running;
    if (!this.#isLoaded) throw this.#failure ?? closedError();
  }

  start(): void {
    this.#running = this.#turn();
    this.#schedule();
  }

  /** Writes what is not written, and when each device was heard last. */
  async close(): Promise<void> {
    if (this.#timer !== null) clearTimeout(this.#timer);
    this.#timer = null;
    await this.#running;
    if (!this.#isLoaded) return;
    this.#look(0, 0);
    await this.#write(true).catch(this.#dependencies.onFailure);
  }

  /** Reads and looks at once, and writes all when it was heard last. */
  clockWasSet(): void {
    this.#lastLook = 0;
    this.#lastRead = Math.min(this.#lastRead, this.#dependencies.now());
    this.#written.clear();
  }

  #schedule(): void {
    this.#timer = setTimeout(() => {
      this.#running = this.#turn().finally(() => {
        if (this.#timer !== null) this.#schedule();
      });
    }, WRITING).unref();
  }

  async #turn(): Promise<void> {
    const { now, silentAfter, onFailure, onRecovered } = this.#dependencies;
    try {
      this.#dependencies.onTurn();
      await (this.#isLoaded ? this.#read() : this.#load());
      const isLook = now() - this.#lastLook >= Math.min(LOOKING, silentAfter / 10);
      if (isLook) {
        this.#lastLook = now();
        this.#look(Math.min(HEARD_WRITTEN, silentAfter / 2), now() - silentAfter / 4);
      }
      await this.#write(isLook);
      this.#failure = null;
      onRecovered();
    } catch (error) {
      this.#failure = error;
      onFailure(error);
    }
  }

  async #load(): Promise<void> {
    const { store, now, take, onLoaded } = this.#dependencies;
    const at = now();
    const heardBefore = await store.load((slots) => {
      for (const slot of slots) {
        take(slot);
        this.#written.set(slot.name, heardAt(slot));
      }
    });
    onLoaded(heardBefore);
    this.#lastRead = at;
    this.#isLoaded = true;
  }

  /** Takes what other managers know. */
  async #read(): Promise<void> {
    const { store, now } = this.#dependencies;
    const at = now();
    if (store.keptSince === null || at - this.#lastRead < READING) return;
    for (const slot of await store.keptSince(this.#lastRead - CLOCKS_DIFFER)) this.#takeOther(slot, at);
    this.#lastRead = at;
  }

  /** Says again when a device was heard here if another worker wants its name, or has it, elsewhere. */
  #takeOther(slot: DeviceSlot, at: number): void {
    const { slots, take, forget } = this.#dependencies;
    const { name, poll, report } = slot;
    if (poll === null && report === null) {
      if (!this.#changed.has(name)) forget(name);
      return;
    }
    const heard = slots.get(name)?.poll?.at ?? 0;
    take(slot);
    if (poll === null || heard <= poll.at) return;
    const holder = slots.get(name)?.poll?.instance?.id;
    if (isInConflict(poll.conflict, at) || holder !== poll.instance?.id) this.put(name);
  }

  /**
   * Has the devices written whose last word the store has from more than `age` milliseconds before; and of those that have not
   * been heard since `quiet`, the last word: after a kill, nobody may be taken for silent who was not.
   */
  #look(age: number, quiet: number): void {
    for (const [name, slot] of this.#dependencies.slots) {
      const at = heardAt(slot);
      const written = this.#written.get(name) ?? 0;
      if (at - written > (at < quiet ? 0 : age)) this.put(name);
    }
  }

  async #write(isLook: boolean): Promise<void> {
    await this.#dropAll();
    if (isLook && this.#changed.size === 0) await this.#put(new Map());
    while (this.#changed.size > 0) {
      await this.#put(this.#takeChanges());
    }
  }

  #takeChanges(): Changes {
    const part: Changes = new Map();
    for (const [name, report] of this.#changed) {
      if (part.size === AT_ONCE) break;
      part.set(name, report);
      this.#changed.delete(name);
    }
    return part;
  }

  async #dropAll(): Promise<void> {
    const names = this.#dropped;
    if (names.length === 0) return;
    this.#dropped = [];
    for (const name of names) this.#written.delete(name);
    try {
      await this.#dependencies.store.drop(names);
    } catch (error) {
      this.#dropped = [...names, ...this.#dropped];
      throw error;
    }
  }

  /** Writes slots; what could not be written is written later. */
  async #put(part: Changes): Promise<void> {
    const { store, slots, now } = this.#dependencies;
    const kept = [...part].flatMap(([name, report]) => keptSlot(slots.get(name), report));
    this.#writing = part;
    try {
      await store.put(kept, now());
    } catch (error) {
      for (const [name, report] of part) this.#changed.set(name, this.#changed.get(name) ?? report);
      throw error;
    } finally {
      this.#writing = new Map();
    }
    for (const { slot } of kept) this.#written.set(slot.name, heardAt(slot));
  }
}

function keptSlot(known: DeviceSlot | undefined, report: string | undefined): KeptSlot[] {
  if (known === undefined) return [];
  const { name, poll, report: half } = known;
  return [{ slot: { name, poll, report: half }, ...(report !== undefined && { report }) }];
}
