import type { Served } from '../served.ts';
import type { DeviceSlot } from './slot.ts';

/** A slot to keep, with the latest report as JSON if it is a new one. */
export interface KeptSlot {
  slot: DeviceSlot;
  report?: string;
}

/** Keeps what is known of devices, apart from what they are served: a store that is lost has to hear them again. */
export interface DeviceStore {
  /** Resolves to what devices are served. */
  served(): Promise<Served>;
  /**
   * Calls `each` with all slots, a page at a time. Resolves to when a manager last said that it hears devices (`put`), in Unix
   * milliseconds; null if none did.
   */
  load(each: (slots: DeviceSlot[]) => void): Promise<number | null>;
  /** Keeps these slots. Of each half, what was heard later stays. `at` is the present time, Unix milliseconds. */
  put(slots: readonly KeptSlot[], at: number): Promise<void>;
  /** Forgets these devices, and their reports in the slots. */
  drop(names: readonly string[]): Promise<void>;
  /** Forgets a device, and has other managers forget it. `at` is the present time, Unix milliseconds. */
  forget(name: string, at: number): Promise<void>;
  /** Resolves to the latest report of a device as JSON; null if it sent none. */
  latestReport(name: string): Promise<string | null>;
  /**
   * Resolves to slots that other managers may have kept since then (Unix milliseconds), without halves for devices that they
   * were asked to forget; null if there are no other managers.
   */
  keptSince: ((at: number) => Promise<DeviceSlot[]>) | null;
}
